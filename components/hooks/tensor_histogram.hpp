#pragma once

#include <torch/types.h>

#include "components/contract/histogram.hpp"

namespace runner {

// Buckets of equal width from the smallest to the largest value, counted on the tensor's device. Values that
// are not finite are skipped.
Histogram histogram_of(const torch::Tensor& values, std::int64_t buckets = 64);

}  // namespace runner
