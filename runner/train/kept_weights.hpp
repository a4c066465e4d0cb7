#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runner/train/training_run.hpp"

namespace runner {

// The weights that the hooks of the run keep, such as averages; their tensors may still be empty.
std::vector<const KeptWeights*> kept_weights(const Run& run);

// Puts such weights into the model, and recomputes batch-norm statistics for them if the hook asks for it.
// The destructor restores the model's own weights.
class KeptWeightsInPlace {
 public:
  KeptWeightsInPlace(Run& run, const KeptWeights& weights);

 private:
  SwappedWeights swapped_;
};

// Saves weights as safetensors under PyTorch's names, atomically: the weights that a hook keeps under this
// name, otherwise the trained ones.
void save_run_weights(Run& run, const std::string& name, const std::filesystem::path& path,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace runner
