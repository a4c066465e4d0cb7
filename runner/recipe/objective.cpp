#include "runner/recipe/objective.hpp"

#include "runner/recipe/measurements.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

std::optional<Objective> objective_of(const Recipe& recipe) {
  const std::vector<Measured> measured = measurements_of(recipe);
  if (const auto& best = recipe.checkpoint.best) {
    const Better better = direction_of({best->metric, best->mode}, measured, "checkpoint.best");
    return Objective{best->metric, better == Better::max};
  }
  for (const Measured& each : measured) {
    if (each.better && !each.name.ends_with('*')) return Objective{each.name, *each.better == Better::max};
  }
  return std::nullopt;
}

}  // namespace runner
