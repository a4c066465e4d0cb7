#pragma once

#include "components/datasets/dataset.hpp"

namespace runner {

// Trains on that many examples of the training set, a random sample, over and over, for epochs as long as
// before, and evaluates on the same.
void overfit(Splits& data, std::int64_t examples, std::uint64_t seed);

}  // namespace runner
