#include "components/support/text_encoding.hpp"

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

}  // namespace
}  // namespace runner
