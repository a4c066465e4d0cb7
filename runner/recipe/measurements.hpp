#pragma once

#include <string>
#include <vector>

#include "runner/recipe/recipe.hpp"

namespace runner {

// The metrics that evaluations of a recipe report, as its components declare them. Nothing is built for this.

// "eval/accuracy" .., and the same for the weights that hooks keep: "ema/accuracy" ..
std::vector<Measured> measurements_of(const Recipe& recipe);

// A part of the recipe whose decisions depend on a metric.
struct Watcher {
  std::string section;  // of the recipe
  std::string does;     // "\"early_stop\" watches "
  Watched watched;
};
std::vector<Watcher> watchers_of(const Recipe& recipe);

// Throws RecipeError if the loss does not take targets of this data.
void require_targets(const Part<LossKind>& loss, const DataSpec& data);

// The metrics of the recipe for a validation set.
std::vector<std::unique_ptr<Metric>> build_metrics(const Recipe& recipe, const DataSpec& data,
                                                   const Loss& loss);

// Reports contradictions that are visible without the data.
void check_measurements(const Recipe& recipe, Report& report);

}  // namespace runner
