#pragma once

#include <torch/types.h>

#include "components/contract/histogram.hpp"

namespace runner {

// Equal buckets from the smallest to the largest value, counted where the tensor is. What is not finite is
// left out.
Histogram histogram_of(const torch::Tensor& values, std::int64_t buckets = 64);

}  // namespace runner
