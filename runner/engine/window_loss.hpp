#pragma once

#include <torch/types.h>

namespace runner {

// The loss of one update: a sum, still on the device, and what to divide it by. Asking for the mean waits for
// the device.
struct WindowLoss {
  torch::Tensor sum;
  double weight = 1;

  double mean() const { return sum.item<double>() / weight; }
};

}  // namespace runner
