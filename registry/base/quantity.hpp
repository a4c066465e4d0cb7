#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace runner {

// The spelling of a unit, and its factor to the base unit.
struct UnitName {
  std::string_view name;
  double factor;
};

// Splits "500step" into 500 and its unit, or says what is wrong with the text.
std::variant<std::pair<double, const UnitName*>, std::string> parse_quantity(std::string_view text,
                                                                             std::span<const UnitName> units,
                                                                             std::string_view example);

}  // namespace runner
