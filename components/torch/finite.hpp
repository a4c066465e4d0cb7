#pragma once

#include <torch/types.h>

#include <vector>

namespace runner {

// Whether each of these tensors has only finite numbers, and whether all have; undefined ones and integers
// do. The host waits for each device once, not for every tensor.
std::vector<bool> each_finite(const std::vector<torch::Tensor>& tensors);
bool all_finite(const std::vector<torch::Tensor>& tensors);

}  // namespace runner
