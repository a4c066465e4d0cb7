#pragma once

#include "components/datasets/dataset.hpp"

namespace runner {

// Leaves the first examples of the training set, and evaluates on the same.
void overfit(Splits& data, std::int64_t examples);

}  // namespace runner
