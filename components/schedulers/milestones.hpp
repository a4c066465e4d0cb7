#pragma once

#include <vector>

#include "components/schedulers/scheduler.hpp"

namespace runner {

// The positions of scheduler.milestones, relative to factor(0). Warns about those that the run never reaches.
std::vector<double> moments_of(const std::vector<Duration>& milestones, const SchedulerInputs& inputs);

}  // namespace runner
