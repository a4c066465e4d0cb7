#include "registry/base/duration.hpp"

#include <array>
#include <cmath>

#include "registry/base/number_text.hpp"
#include "registry/base/quantity.hpp"

namespace runner {

namespace {

constexpr std::array units{UnitName{"ep", 1},   UnitName{"step", 1},  UnitName{"s", 1},  UnitName{"min", 60},
                           UnitName{"h", 3600}, UnitName{"d", 86400}, UnitName{"run", 1}};

Duration::Unit unit_of(std::string_view name) {
  if (name == "ep") return Duration::Unit::epoch;
  if (name == "step") return Duration::Unit::step;
  if (name == "run") return Duration::Unit::run;
  return Duration::Unit::second;
}

std::string seconds_to_string(double amount) {
  // The largest unit that keeps the number whole, so that "2h" stays "2h".
  for (const auto& [name, factor] : {units[5], units[4], units[3]}) {
    const double count = amount / factor;
    if (amount > 0 && count == std::floor(count)) {
      return plain_number_text(count) + std::string(name);
    }
  }
  return plain_number_text(amount) + "s";
}

}  // namespace

std::variant<Duration, std::string> parse_duration(std::string_view text) {
  if (text == "never") return never();
  const auto parsed = parse_quantity(text, units, "500step");
  if (const auto* problem = std::get_if<std::string>(&parsed)) return *problem;
  const auto& [amount, unit] = std::get<0>(parsed);
  const Duration duration{amount * unit->factor, unit_of(unit->name)};
  if (duration.amount > 1e15) return "is longer than any run could be";
  if (duration.unit == Duration::Unit::step && amount != std::floor(amount)) {
    return "must be a whole number of steps";
  }
  if (duration.unit == Duration::Unit::run && amount > 1) return "is a share of the run: at most \"1run\"";
  return duration;
}

std::string to_string(const Duration& duration) {
  switch (duration.unit) {
    case Duration::Unit::epoch: return plain_number_text(duration.amount) + "ep";
    case Duration::Unit::step: return plain_number_text(duration.amount) + "step";
    case Duration::Unit::run: return plain_number_text(duration.amount) + "run";
    case Duration::Unit::never: return "never";
    case Duration::Unit::second: break;
  }
  return seconds_to_string(duration.amount);
}

}  // namespace runner
