#include "components/hooks/weight_average.hpp"

#include <ATen/ops/_foreach_lerp.h>
#include <torch/utils.h>

namespace runner {

WeightAverage::WeightAverage(const Weights& weights, Buffers buffers) {
  for (const NamedTensor& parameter : weights.held_parameters()) follow(parameter);
  if (buffers == Buffers::left_out) return;
  for (const NamedTensor& buffer : weights.held_buffers()) follow(buffer);
}

void WeightAverage::follow(const NamedTensor& weights) {
  const auto& [name, tensor] = weights;
  const torch::Tensor average = tensor.detach().clone();
  tensors_[name] = average;
  const bool number = tensor.is_floating_point();
  (number ? weights_ : counts_).push_back(tensor);
  (number ? averages_ : copies_).push_back(average);
}

void WeightAverage::approach(double share) {
  const torch::NoGradGuard no_grad;
  if (!averages_.empty()) at::_foreach_lerp_(averages_, weights_, share);
  for (std::size_t i = 0; i < counts_.size(); ++i) copies_[i].copy_(counts_[i]);
}

void WeightAverage::load(const State& state) {
  StateReader saved(state);
  for (auto& [name, average] : tensors_) saved.tensor_into(name, average);
  saved.finish();
}

}  // namespace runner
