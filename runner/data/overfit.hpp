#pragma once

#include "components/datasets/dataset.hpp"

namespace runner {

// Replaces the training set by this many random examples of it, repeated so that epochs keep their length,
// and the validation set by the same examples.
void overfit(Splits& data, std::int64_t examples, std::uint64_t seed);

}  // namespace runner
