#pragma once

#include <string>
#include <string_view>

namespace runner {

enum class LikelyContent { gzip, zip, utf16, east_asian, western };

// What bytes that should be UTF-8 text, and are not, seem to be.
LikelyContent likely_content(std::string_view bytes);

// What to do about bytes that should be UTF-8 text and are not, judged by the bytes themselves. Without a
// full stop at its end.
std::string encoding_remedy(std::string_view bytes);

}  // namespace runner
