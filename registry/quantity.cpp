#include "registry/quantity.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "registry/suggest.hpp"
#include "registry/wording.hpp"

namespace runner {

namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

std::variant<std::pair<double, const UnitName*>, std::string> parse_quantity(std::string_view text,
                                                                             std::span<const UnitName> units,
                                                                             std::string_view example) {
  std::string known;
  for (const UnitName& unit : units) known += (known.empty() ? "" : ", ") + std::string(unit.name);
  const std::string_view trimmed = trim(text);
  double amount = 0;
  const auto [end, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), amount);
  if (error == std::errc::result_out_of_range) return "the number is out of range";
  if (error != std::errc{}) return "needs a number and a unit, such as " + in_quotes(example);
  if (!std::isfinite(amount) || amount < 0) return "must be a finite number, not negative";
  const std::string_view unit = trim(trimmed.substr(static_cast<std::size_t>(end - trimmed.data())));
  if (unit.empty()) return "needs a unit (" + known + "), such as " + in_quotes(example);
  for (const UnitName& candidate : units) {
    if (candidate.name == unit) return std::pair{amount + 0.0, &candidate};  // -0 becomes 0
  }
  std::vector<std::string> names;
  for (const UnitName& candidate : units) names.emplace_back(candidate.name);
  const auto meant = nearest(unit, names);
  return "has the unknown unit " + in_quotes(unit) +
         (meant ? "; did you mean " + in_quotes(*meant) + "?" : "") + " (" + known + ")";
}

std::string shortest(double number) {
  std::array<char, 400> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed);
  return {buffer.data(), end};
}

}  // namespace runner
