#pragma once

#include "runner/train/run.hpp"

namespace runner {

// Passes two examples through evaluation, metrics and hooks before training begins, so that what does not fit
// is not found out after an epoch. Changes nothing about the run; throws what an evaluation would.
void rehearse(Run& run);

}  // namespace runner
