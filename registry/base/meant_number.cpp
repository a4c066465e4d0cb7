#include "registry/base/meant_number.hpp"

#include <algorithm>
#include <charconv>

namespace runner {

std::optional<std::string> meant_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t first_digit = text.find_first_of("0123456789");
  if (first_digit > 1 || (first_digit == 1 && text.front() != '.')) return std::nullopt;
  std::string number(text);
  if (number.find('.') == std::string::npos && std::ranges::count(number, ',') == 1)
    std::ranges::replace(number, ',', '.');
  if (number.starts_with('.')) number.insert(0, "0");
  const std::size_t exponent = std::min(number.find_first_of("eE"), number.size());
  if (exponent > 0 && number[exponent - 1] == '.') number.insert(exponent, "0");
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size()) return std::nullopt;
  return (negative ? "-" : "") + number;
}

}  // namespace runner
