#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runner/terminal/style.hpp"

namespace runner {

// What an output can show.
struct Look {
  bool utf8 = false;
  Style style = {};
  int width = 80;

  std::string dot() const { return utf8 ? " · " : ", "; }
  std::string times() const { return utf8 ? " × " : " x "; }
};

std::string grouped(std::int64_t number);                         // 11,173,962
std::string grouped(std::int64_t number, std::string_view noun);  // 11,173,962 steps, 1 step
std::string measured(double value);  // about four significant digits: 0.4312, 1.2e-05, 12,345, nan
std::string rounded(double value, int digits = 6);  // significant ones: 0.43125, 1.2e-05, 12345
std::string duration_text(double seconds);          // 0.4s, 42s, 3m 12s, 2h 05m, 3d 04h
std::string epoch_text(double epoch);               // 3, 2.25

// Shortens to this many columns; the text must not contain escape sequences.
std::string shortened(std::string_view text, std::size_t width, bool utf8);

}  // namespace runner
