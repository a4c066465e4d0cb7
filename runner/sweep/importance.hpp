#pragma once

#include <optional>
#include <vector>

#include "runner/sweep/sampler.hpp"

namespace runner {

// For each parameter the share of the variance of the result that it explains by itself: between groups of
// equal or neighbouring values against the whole, less what chance alone would explain. Nothing if there are
// too few observations to tell.
std::vector<std::optional<double>> importance(const std::vector<Parameter>& parameters,
                                              const std::vector<Observation>& observations);

}  // namespace runner
