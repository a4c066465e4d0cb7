#include "runner/terminal/format.hpp"

#include <cmath>
#include <cstdio>

#include "runner/terminal/character.hpp"
#include "runner/terminal/text.hpp"

namespace runner {
namespace {

template <class... Values>
std::string printed(const char* format, Values... values) {
  char text[64];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string grouped(std::int64_t number, std::string_view noun) {
  return grouped(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::string rounded(double value, int digits) { return printed("%.*g", digits, value); }

std::string measured(double value) {
  if (std::isnan(value)) return "nan";  // whatever its sign
  if (std::isinf(value)) return printed("%g", value);
  const double size = std::abs(value);
  if (size >= 1000 && size < 1e9) return grouped(std::llround(value));
  if (value == std::round(value) && size < 1000) return printed("%.0f", value);
  if (size < 1e-3 || size >= 1e9) return printed("%.3g", value);
  return printed("%#.4g", value);
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e12) return "?";
  if (seconds < 9.95) return printed("%.1fs", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 60) return printed("%llds", whole);
  if (whole < 3600) return printed("%lldm %02llds", whole / 60, whole % 60);
  if (whole < 86400) return printed("%lldh %02lldm", whole / 3600, whole % 3600 / 60);
  return printed("%lldd %02lldh", whole / 86400, whole % 86400 / 3600);
}

std::string epoch_text(double epoch) {
  const double hundredths = std::round(epoch * 100) / 100;
  return hundredths == std::round(hundredths) ? printed("%.0f", hundredths) : printed("%.2f", hundredths);
}

std::string shortened(std::string_view text, std::size_t width, bool utf8) {
  if (visible_width(text) <= width) return std::string(text);
  const std::string_view mark = utf8 ? "…" : "...";
  const std::size_t mark_width = visible_width(mark);
  if (width < mark_width) return std::string(width, '.');
  std::string kept;
  for (std::size_t room = width - mark_width; !text.empty();) {
    const Character next = first_character(text);
    if (next.columns > room) break;
    room -= next.columns;
    kept += text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
  }
  return kept + std::string(mark);
}

}  // namespace runner
