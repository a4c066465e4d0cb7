#pragma once

#include <optional>
#include <vector>

#include "runner/sweep/sampler.hpp"

namespace runner {

// For each parameter, the share of the variance of the result that it explains alone: the variance between
// groups of equal or neighbouring values, relative to the total, minus what is expected by chance. nullopt
// if there are too few observations.
std::vector<std::optional<double>> importance(const std::vector<Parameter>& parameters,
                                              const std::vector<Observation>& observations);

}  // namespace runner
