#pragma once

#include <span>
#include <string>
#include <string_view>

namespace runner {

// Two lower-case digits for each byte.
inline std::string hex(std::span<const unsigned char> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace runner
