#pragma once

#include <string_view>

namespace runner {

// What some editors write before UTF-8 text. It is no part of the text.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

}  // namespace runner
