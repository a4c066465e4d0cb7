#pragma once

#include <string>
#include <vector>

#include "runner/recipe.hpp"

namespace runner {

// What evaluations of a recipe report, from what its parts say of themselves: nothing is built for it.

// "eval/accuracy" .., and the same of the weights that hooks keep: "ema/accuracy" ..
std::vector<Measured> measurements_of(const Recipe& recipe);

// A part of the recipe that decides by a measurement.
struct Watcher {
  std::string section;  // of the recipe
  std::string does;     // "hook \"early_stop\" watches "
  Watched watched;
};
std::vector<Watcher> watchers_of(const Recipe& recipe);

// What the targets mean where loss and metric both understand them; none where neither looks at them. Throws
// std::runtime_error where they do not understand such data, or each other.
std::optional<Targets> targets_for(const Part<MetricKind>& metric, const Part<LossKind>& loss,
                                   const DataSpec& data);
// Likewise for the loss alone.
void require_targets(const Part<LossKind>& loss, const DataSpec& data);

// The metrics of the recipe for a validation set.
std::vector<std::unique_ptr<Metric>> build_metrics(const Recipe& recipe, const DataSpec& data,
                                                   const Loss& loss);

// Contradictions that are visible before any data is.
void check_measurements(const Recipe& recipe, Report& report);

}  // namespace runner
