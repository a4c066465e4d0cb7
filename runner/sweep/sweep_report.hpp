#pragma once

#include <string>

#include "runner/sweep/sweep.hpp"
#include "runner/terminal/style.hpp"

namespace runner {

// For the terminal: all trials, the best first, why some failed, and how to get the best again.
std::string trials_table(const SweepPlan& plan, std::vector<Trial> trials, const Style& style);

// The trials as a page: parallel coordinates, what matters, the best, and the curves of all of them.
std::string sweep_report(const SweepPlan& plan, const std::vector<Trial>& trials);

}  // namespace runner
