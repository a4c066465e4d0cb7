#include "components/hooks/weight_average.hpp"

#include <ATen/ops/_foreach_lerp.h>
#include <torch/utils.h>

#include <stdexcept>

namespace runner {

WeightAverage::WeightAverage(const Model& model, Buffers buffers) {
  for (const auto& item : model.named_parameters()) follow(item.key(), item.value());
  if (buffers == Buffers::left_out) return;
  for (const auto& item : model.named_buffers()) follow(item.key(), item.value());
}

void WeightAverage::follow(const std::string& name, const torch::Tensor& weights) {
  const torch::Tensor average = weights.detach().clone();
  tensors_[name] = average;
  const bool number = weights.is_floating_point();
  (number ? weights_ : counts_).push_back(weights);
  (number ? averages_ : copies_).push_back(average);
}

void WeightAverage::approach(double share) {
  const torch::NoGradGuard no_grad;
  if (!averages_.empty()) at::_foreach_lerp_(averages_, weights_, share);
  for (std::size_t i = 0; i < counts_.size(); ++i) copies_[i].copy_(counts_[i]);
}

void WeightAverage::load(const std::map<std::string, torch::Tensor>& saved) {
  const torch::NoGradGuard no_grad;
  for (auto& [name, average] : tensors_) {
    const auto found = saved.find(name);
    if (found == saved.end() || found->second.sizes() != average.sizes())
      throw std::runtime_error("The saved average of the weights has no \"" + name + "\" of this shape.");
    average.copy_(found->second);
  }
}

}  // namespace runner
