#include "runner/engine/gradients.hpp"

#include <torch/types.h>
#include <torch/utils.h>

namespace runner {

std::vector<torch::Tensor> gradients_of(const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const torch::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  return gradients;
}

torch::Tensor total_norm(const std::vector<torch::Tensor>& gradients, double order) {
  if (gradients.empty()) return torch::zeros({});
  return torch::stack(at::_foreach_norm(gradients, order)).norm(order);
}

void clip_to_norm(const std::vector<torch::Tensor>& gradients, const torch::Tensor& norm, double most) {
  if (gradients.empty()) return;
  // The small constant is PyTorch's, so that results are bit-identical.
  at::_foreach_mul_(gradients, torch::clamp_max(most / (norm + 1e-6), 1.0));
}

void clip_to_value(const std::vector<torch::Tensor>& gradients, double most) {
  if (gradients.empty()) return;
  at::_foreach_clamp_min_(gradients, -most);
  at::_foreach_clamp_max_(gradients, most);
}

}  // namespace runner
