#pragma once

#include "components/datasets/dataset.hpp"

namespace runner {

// Leaves that many examples of the training set, a random sample, and evaluates on the same.
void overfit(Splits& data, std::int64_t examples, std::uint64_t seed);

}  // namespace runner
