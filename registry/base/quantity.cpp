#include "registry/base/quantity.hpp"

#include <charconv>
#include <cmath>
#include <vector>

#include "registry/base/suggest.hpp"
#include "registry/base/trimmed.hpp"
#include "registry/base/wording.hpp"

namespace runner {

std::variant<std::pair<double, const UnitName*>, std::string> parse_quantity(std::string_view text,
                                                                             std::span<const UnitName> units,
                                                                             std::string_view example) {
  std::vector<std::string> names;
  for (const UnitName& unit : units) names.emplace_back(unit.name);
  const std::string known = joined(names);
  const std::string_view quantity = trimmed(text);
  double amount = 0;
  const auto [end, error] = std::from_chars(quantity.data(), quantity.data() + quantity.size(), amount);
  if (error == std::errc::result_out_of_range) return "the number is out of range";
  if (error != std::errc{}) return "needs a number and a unit, such as " + in_quotes(example);
  if (!std::isfinite(amount) || amount < 0) return "must be a finite number, not negative";
  const std::string_view unit = trimmed(quantity.substr(static_cast<std::size_t>(end - quantity.data())));
  if (unit.empty()) return "needs a unit (" + known + "), such as " + in_quotes(example);
  for (const UnitName& candidate : units) {
    if (candidate.name == unit) return std::pair{amount + 0.0, &candidate};  // -0 becomes 0
  }
  const auto hint = did_you_mean(unit, names);
  return "has the unknown unit " + in_quotes(unit) + (hint ? "; " + *hint : "") + " (" + known + ")";
}

}  // namespace runner
