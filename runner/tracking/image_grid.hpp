#pragma once

#include <torch/types.h>

#include "components/trackers/tracker.hpp"

namespace runner {

// The first images of a batch [examples, channels, height, width] side by side in one picture, as they are
// after all transforms: the smallest value of what is shown is black, the largest white. One channel or
// three.
Picture image_grid(const torch::Tensor& batch, std::int64_t most = 16);

}  // namespace runner
