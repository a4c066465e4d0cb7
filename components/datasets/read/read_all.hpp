#pragma once

#include "components/datasets/dataset.hpp"

namespace runner {

// All examples of a split as one batch without targets: what an Interpreter returns.
Batch read_all(const Split& split);

}  // namespace runner
