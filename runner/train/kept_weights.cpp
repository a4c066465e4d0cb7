#include "runner/train/kept_weights.hpp"

#include <torch/utils.h>

#include "runner/train/batch_statistics.hpp"
#include "runner/train/model_file.hpp"

namespace runner {

std::vector<const KeptWeights*> kept_weights(const Run& run) {
  std::vector<const KeptWeights*> found;
  for (const auto& hook : run.hooks) {
    if (const KeptWeights* weights = hook->kept_weights()) found.push_back(weights);
  }
  return found;
}

WeightsInPlace::WeightsInPlace(Run& run, const KeptWeights& weights) {
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
  for (const KeptWeights* weights : kept_weights(run)) {
    if (weights->name != name) continue;
    const WeightsInPlace in_place(run, *weights);
    return save_model(*run.model, path);
  }
  save_model(*run.model, path);
}

}  // namespace runner
