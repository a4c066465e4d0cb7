#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <string>

namespace runner {

// The shortest text that reads back as the same number, with an exponent if that is shorter; nan, inf and
// -inf if it is not finite.
template <std::floating_point Number>
std::string number_text(Number value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// As people write a number: 100000 instead of 1e+05, but 1e-30.
inline std::string plain_number_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e16 || (size > 0 && size < 1e-5) || !std::isfinite(value)) return number_text(value);
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr};
}

}  // namespace runner
