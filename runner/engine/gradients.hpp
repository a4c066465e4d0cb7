#pragma once

#include <torch/types.h>

#include <vector>

namespace runner {

std::vector<torch::Tensor> gradients_of(const std::vector<torch::Tensor>& parameters);

// The norm over all gradients, of any order up to infinity, as a scalar tensor that stays on the device.
torch::Tensor total_norm(const std::vector<torch::Tensor>& gradients, double order = 2);

// Scales all gradients so that their total norm is at most `most`.
void clip_to_norm(const std::vector<torch::Tensor>& gradients, const torch::Tensor& norm, double most);
void clip_to_value(const std::vector<torch::Tensor>& gradients, double most);

}  // namespace runner
