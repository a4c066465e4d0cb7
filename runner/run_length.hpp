#pragma once

#include "runner/recipe.hpp"

namespace runner {

// Whether the schedule is drawn over the whole run: a run of another length would have had other learning
// rates from the start.
bool schedule_depends_on_length(const Part<SchedulerKind>& scheduler);

}  // namespace runner
