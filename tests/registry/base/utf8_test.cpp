#include "registry/base/utf8.hpp"

#include <catch2/catch_all.hpp>

namespace runner {

TEST_CASE("utf8: malformed text is recognised", "[utf8]") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("plain"));
  CHECK(is_utf8("gr\xC3\xBC\xC3\x9F"));
  CHECK(is_utf8("\xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF"));
  CHECK_FALSE(is_utf8("\x80"));
  CHECK_FALSE(is_utf8("\xC3"));
  CHECK_FALSE(is_utf8("\xC3("));
  CHECK_FALSE(is_utf8("\xC0\xAF"));          // longer than needed
  CHECK_FALSE(is_utf8("\xE0\x80\x80"));      // longer than needed
  CHECK_FALSE(is_utf8("\xF0\x80\x80\x80"));  // longer than needed
  CHECK_FALSE(is_utf8("\xED\xA0\x80"));      // a surrogate
  CHECK_FALSE(is_utf8("\xF4\x90\x80\x80"));  // beyond U+10FFFF
  CHECK_FALSE(is_utf8("\xFF"));
}

TEST_CASE("utf8: what is printed cannot move a terminal's cursor", "[utf8]") {
  CHECK(printable("a\tb") == "a b");
  CHECK(printable("\x1B[31mred") == "?[31mred");
  CHECK(printable("line\nbreak\r") == "line?break?");
  CHECK(printable("\xC3\xA9\x80\xFF") == "\xC3\xA9??");
  CHECK(printable("\xC2\x9B"
                  "31m") == "?31m");  // the one-character form of ESC [
  CHECK(printable(std::string_view("\0", 1)) == "?");
}

TEST_CASE("a NUL is written out", "[utf8]") {
  CHECK(without_nul(std::string("a\0b\0", 4)) == "a\\0b\\0");
  CHECK(without_nul("plain") == "plain");
}

}  // namespace runner
