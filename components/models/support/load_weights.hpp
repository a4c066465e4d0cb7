#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "components/contract/weights.hpp"
#include "components/models/model.hpp"
#include "components/models/support/weight_files.hpp"

namespace runner {

// What came out of loading weights; with strict, everything but `loaded` and `replaced` is empty.
struct LoadSummary {
  std::string format;                        // "safetensors", "torch.save (zip)" or "torch.save (old layout)"
  std::size_t loaded = 0;                    // parameters and buffers taken from the file
  std::vector<std::string> replaced = {};    // left as initialised, because model.replace says so
  std::vector<std::string> missing = {};     // in the model, not in the file
  std::vector<std::string> unexpected = {};  // in the file, not in the model
  std::vector<std::string> misshapen = {};   // in both, with both shapes

  std::string text() const;  // a line for the log, and one more for each kind of difference
};

// What a file of weights holds for a model, whose tensors need not be in memory.
struct WeightMatch {
  struct Pair {
    std::string name;
    torch::Tensor into, from;  // of the model; of the file, of the same shape
  };

  WeightFiles files;
  std::vector<Pair> pairs;  // in the order of the files
  LoadSummary summary;
};

// A prefix "module." on every name (DistributedDataParallel, DataParallel) is taken off. Where strict finds a
// difference, or a pattern of common.replace selects nothing, it throws std::runtime_error with all of it.
WeightMatch match_weights(const Model& model, const std::filesystem::path& path, const ModelCommon& common);

// Fills the model's parameters and buffers from a file, whatever its extension, one tensor after the other:
// no more of the file is in memory at a time. Throws as above, and then the model is as it was.
LoadSummary load_weights(Model& model, const std::filesystem::path& path, const ModelCommon& common);

// As safetensors under PyTorch's names, whole or not at all.
void save_weights(const std::vector<NamedTensor>& weights, const std::filesystem::path& path,
                  std::map<std::string, std::string> metadata = {});

// Excludes parameters from training; the names of all that are excluded. Throws where a pattern selects
// nothing.
std::vector<std::string> freeze_parameters(Model& model, const std::vector<std::string>& patterns);

// All that the parameters common to every model ask for: weights first, then freezing.
std::optional<LoadSummary> apply_common(Model& model, const ModelCommon& common);

}  // namespace runner
