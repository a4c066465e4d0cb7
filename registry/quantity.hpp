#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace runner {

// A unit's spelling and how many of the base it is.
struct UnitName {
  std::string_view name;
  double factor;
};

// Splits "500step" into 500 and the unit it names, or says what is wrong: for every quantity that carries its
// unit.
std::variant<std::pair<double, const UnitName*>, std::string> parse_quantity(std::string_view text,
                                                                             std::span<const UnitName> units,
                                                                             std::string_view example);

std::string shortest(double number);  // as few digits as read back to the same number, never an exponent

}  // namespace runner
