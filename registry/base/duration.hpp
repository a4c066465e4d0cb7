#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace runner {

// An interval or a length of training that carries its unit: "5ep", "500step", "30min", "2h", "0.1run"; or
// "never".
struct Duration {
  enum class Unit { epoch, step, second, run, never };

  double amount = 0;
  Unit unit = Unit::step;

  bool operator==(const Duration&) const = default;
};

constexpr Duration epochs(double amount) { return {amount, Duration::Unit::epoch}; }
constexpr Duration steps(double amount) { return {amount, Duration::Unit::step}; }
constexpr Duration seconds(double amount) { return {amount, Duration::Unit::second}; }
constexpr Duration share_of_run(double amount) { return {amount, Duration::Unit::run}; }

constexpr Duration never() { return {0, Duration::Unit::never}; }

// The duration, or what is wrong with the text.
std::variant<Duration, std::string> parse_duration(std::string_view text);
std::string to_string(const Duration& duration);

}  // namespace runner
