#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runner/train/run.hpp"

namespace runner {

// What the hooks of the run keep beside the trained weights, as it is now; those that have none yet too.
std::vector<const KeptWeights*> kept_weights(const Run& run);

// The model has other weights in it for as long as this lives, and then its own again.
class WeightsInPlace {
 public:
  WeightsInPlace(Run& run, const KeptWeights& weights);
  ~WeightsInPlace();
  WeightsInPlace(const WeightsInPlace&) = delete;
  WeightsInPlace& operator=(const WeightsInPlace&) = delete;

 private:
  std::vector<std::pair<torch::Tensor, torch::Tensor>> kept_;  // of the model, and what was in it
};

// Saves the weights of that name: what a hook keeps, or else what is trained.
void save_weights(Run& run, const std::string& name, const std::filesystem::path& path);

}  // namespace runner
