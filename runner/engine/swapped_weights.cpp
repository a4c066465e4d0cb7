#include "runner/engine/swapped_weights.hpp"

#include <torch/types.h>
#include <torch/utils.h>

namespace runner {

SwappedWeights::SwappedWeights(Engine& engine, const std::map<std::string, torch::Tensor>& tensors) {
  const torch::NoGradGuard no_grad;
  const auto swap = [&](const NamedTensor& own, bool keep) {
    const auto other = tensors.find(own.name);
    if (keep || other != tensors.end()) kept_.emplace_back(own.tensor, own.tensor.clone());
    if (other != tensors.end()) torch::Tensor(own.tensor).copy_(other->second);
  };
  for (const NamedTensor& parameter : engine.weights().held_parameters()) swap(parameter, false);
  // A pass for batch-norm statistics changes every buffer it meets.
  for (const NamedTensor& buffer : engine.weights().held_buffers()) swap(buffer, true);
}

SwappedWeights::~SwappedWeights() {
  const torch::NoGradGuard no_grad;
  for (auto& [tensor, own] : kept_) tensor.copy_(own);
}

}  // namespace runner
