#pragma once

#include <string>

#include "runner/sweep/sweep.hpp"
#include "runner/terminal/style.hpp"

namespace runner {

// For the terminal: all trials, the best first; why some failed; the settings and folder of the best.
std::string trials_table(const SweepPlan& plan, std::vector<Trial> trials, const Style& style);

// The trials as an HTML page: parallel coordinates, importance of each parameter, best trial, all curves.
std::string sweep_report(const SweepPlan& plan, const std::vector<Trial>& trials);

}  // namespace runner
