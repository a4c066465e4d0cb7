#include "registry/files/text_encoding.hpp"

#include <catch2/catch_all.hpp>

namespace runner {
namespace {

TEST_CASE("the encoding of a text is guessed from its bytes above 127") {
  CHECK(likely_content("gr\xF6\xDF"
                       "e,y\n1,2\n") == LikelyContent::western);  // two in a row
  CHECK(likely_content("f\xFCr die Gr\xF6\xDF"
                       "e") == LikelyContent::western);
  CHECK(likely_content("\xD6\xD0\xB9\xFA,1\n\xC8\xD5\xB1\xBE,2\n") == LikelyContent::east_asian);  // GBK
  CHECK(likely_content("\xFF\xFE"
                       "a") == LikelyContent::utf16);
  CHECK(likely_content("\x1F\x8B\x08") == LikelyContent::gzip);
}

TEST_CASE("UTF-16 without a byte order mark is known by its zeros") {
  const auto wide = [](const std::string& text, bool little) {
    std::string bytes;
    for (const char letter : text) bytes += little ? std::string{letter, '\0'} : std::string{'\0', letter};
    return bytes;
  };
  CHECK(likely_content(wide("a,b\n", true)) == LikelyContent::utf16_little);
  CHECK(likely_content(wide("a,b\n", false)) == LikelyContent::utf16_big);
  CHECK(!is_bare_utf16("plain text"));
  CHECK(!is_bare_utf16(""));
  CHECK(!is_bare_utf16(std::string(100, '\0')));                  // some other binary data
  CHECK(!is_bare_utf16(std::string("a\0bcdefgh\n\0ijklm", 16)));  // a few zeros in a text
}

}  // namespace
}  // namespace runner
