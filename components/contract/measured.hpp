#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "registry/field.hpp"

namespace runner {

// Which direction of a measurement is better, as recipes write it.
enum class Better { max, min };
constexpr auto describe(std::type_identity<Better>) {
  return choices(choice("max", Better::max, "higher is better"),
                 choice("min", Better::min, "lower is better"));
}

// Never if one of the values is NaN.
constexpr bool is_better(Better better, double value, double than) {
  return better == Better::max ? value > than : value < than;
}

// A metric that an evaluation reports: "accuracy", or "eval/accuracy" with the name of the weights.
struct Measured {
  std::string name;                   // "name*" means all metrics that begin with "name"
  std::optional<Better> better = {};  // none: only the user knows
};

// The metric that a component decides by, and the direction that the recipe gives for it.
struct Watched {
  std::string metric;
  std::optional<Better> mode = {};
};

const Measured* find_measured(const std::vector<Measured>& measured, const std::string& name);

// Why the metric cannot be watched: nothing computes it, or its direction is unknown or contradicts the
// recipe. The text completes a sentence that begins with "decides by ". Empty if all is well.
std::string problem_of(const Watched& watched, const std::vector<Measured>& measured);

// The direction of the metric. If problem_of() finds a problem, throws std::runtime_error: "<who> watches
// ..".
Better direction_of(const Watched& watched, const std::vector<Measured>& measured, const std::string& who);

}  // namespace runner
