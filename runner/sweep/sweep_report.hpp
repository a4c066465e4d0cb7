#pragma once

#include <string>

#include "runner/sweep/sweep.hpp"

namespace runner {

// The trials as a page: parallel coordinates, what matters, the best, and the curves of all of them.
std::string sweep_report(const SweepPlan& plan, const std::vector<Trial>& trials);

}  // namespace runner
