#pragma once

#include <charconv>
#include <string>

namespace runner {

// The shortest text that reads back as the same number, with an exponent if that is shorter; nan, inf and
// -inf if it is not finite.
inline std::string number_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace runner
