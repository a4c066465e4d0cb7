#include "runner/train/other_weights.hpp"

#include <torch/utils.h>

#include "runner/train/batch_statistics.hpp"
#include "runner/train/model_file.hpp"

namespace runner {

std::vector<const OtherWeights*> other_weights(const Run& run) {
  std::vector<const OtherWeights*> found;
  for (const auto& hook : run.hooks) {
    if (const OtherWeights* weights = hook->other_weights()) found.push_back(weights);
  }
  return found;
}

WeightsInPlace::WeightsInPlace(Run& run, const OtherWeights& weights) {
  const torch::NoGradGuard no_grad;
  const auto borrow = [&](const std::string& name, torch::Tensor& tensor, bool keep) {
    const auto other = weights.tensors.find(name);
    if (keep || other != weights.tensors.end()) kept_.emplace_back(tensor, tensor.clone());
    if (other != weights.tensors.end()) tensor.copy_(other->second);
  };
  for (auto& item : run.model->named_parameters()) borrow(item.key(), item.value(), false);
  // A pass for statistics changes every buffer it meets.
  for (auto& item : run.model->named_buffers()) borrow(item.key(), item.value(), true);
  if (weights.statistics_batches > 0) recompute_batch_statistics(run, weights.statistics_batches);
}

WeightsInPlace::~WeightsInPlace() {
  const torch::NoGradGuard no_grad;
  for (auto& [tensor, own] : kept_) tensor.copy_(own);
}

void save_weights(Run& run, const std::string& name, const std::filesystem::path& path) {
  for (const OtherWeights* weights : other_weights(run)) {
    if (weights->name != name) continue;
    const WeightsInPlace in_place(run, *weights);
    return save_model(*run.model, path);
  }
  save_model(*run.model, path);
}

}  // namespace runner
