#pragma once

#include "runner/train/run.hpp"

namespace runner {

// Builds the parts in the order in which they need each other; what is wrong with data or weights shows here,
// before the first step.
Run assemble(const Recipe& recipe);

}  // namespace runner
