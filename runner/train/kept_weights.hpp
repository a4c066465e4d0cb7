#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runner/train/run.hpp"

namespace runner {

// What the hooks of the run keep beside the trained weights, as it is now; those that have none yet too.
std::vector<const KeptWeights*> kept_weights(const Run& run);

// Those weights are in the model for as long as this lives, with batch-norm statistics that fit them where
// they ask for that; then its own are again.
class KeptWeightsInPlace {
 public:
  KeptWeightsInPlace(Run& run, const KeptWeights& weights);
  ~KeptWeightsInPlace();
  KeptWeightsInPlace(const KeptWeightsInPlace&) = delete;
  KeptWeightsInPlace& operator=(const KeptWeightsInPlace&) = delete;

 private:
  KeptWeightsInPlace(Engine& engine, const std::map<std::string, torch::Tensor>& tensors);

  std::vector<std::pair<torch::Tensor, torch::Tensor>> own_;  // a tensor of the model, and its own values
};

// Saves the weights of that name as safetensors under PyTorch's names, whole or not at all: what a hook
// keeps, or else what is trained.
void save_weights(Run& run, const std::string& name, const std::filesystem::path& path,
                  const std::map<std::string, std::string>& metadata = {});

}  // namespace runner
