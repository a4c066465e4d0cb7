#pragma once

#include <string>
#include <string_view>

namespace runner {

// The text without the byte order mark that some editors write before UTF-8.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

enum class LikelyContent { gzip, zip, utf16, utf16_little, utf16_big, east_asian, western };

// A guess at what the bytes are, which should be UTF-8 text but are not.
LikelyContent likely_content(std::string_view bytes);

// UTF-16 without a byte order mark. English text in it is valid UTF-8: half of its bytes are 0.
bool is_bare_utf16(std::string_view bytes);

// How to convert such bytes to UTF-8, without a full stop at the end.
std::string encoding_remedy(std::string_view bytes);

}  // namespace runner
