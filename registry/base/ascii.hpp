#pragma once

#include <string>
#include <string_view>

namespace runner {

// Only the letters of ASCII, in every locale.
constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ascii_lower(c);
  return lower;
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether TOML allows it in a key without quotes.
constexpr bool is_bare_key(char c) {
  const char lower = ascii_lower(c);
  return (lower >= 'a' && lower <= 'z') || is_digit(c) || c == '_' || c == '-';
}

}  // namespace runner
