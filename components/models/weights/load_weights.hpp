#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "components/contract/weights.hpp"
#include "components/models/model.hpp"
#include "components/models/weights/weight_files.hpp"

namespace runner {

// The result of loading weights; with strict, the lists of differences are empty.
struct LoadSummary {
  std::string format;                        // "safetensors", "torch.save (zip)" or "torch.save (old layout)"
  std::size_t loaded = 0;                    // parameters and buffers taken from the file
  std::vector<std::string> replaced = {};    // left as initialised, because model.replace says so
  std::vector<std::string> missing = {};     // in the model, not in the file
  std::vector<std::string> unexpected = {};  // in the file, not in the model
  std::vector<std::string> misshapen = {};   // in both, with both shapes

  std::string text() const;         // a line for the log, and one more for each kind of difference
  std::string differences() const;  // lines of the differences; empty: none
};

// The tensors of a weights file that belong to a model. Neither need be in memory.
struct WeightMatch {
  struct Pair {
    std::string name;
    torch::Tensor into, from;  // of the model; of the file, of the same shape
  };

  WeightFiles files;
  std::vector<Pair> pairs;  // in the order of the files
  LoadSummary summary;
};

// Finds the tensor for each parameter and buffer. Prefixes that wrappers add to every name are removed:
// "module." (DistributedDataParallel, DataParallel), "_orig_mod." (torch.compile), "model." (Lightning,
// unless the model has such names). `rename` gives the model's name for one in the file. Throws
// std::runtime_error that lists all differences if there are any and common.strict is set, or if a pattern of
// common.replace selects nothing.
using RenameWeight = std::function<std::string(const std::string&)>;
WeightMatch match_weights(const torch::nn::Module& model, const std::filesystem::path& path,
                          const ModelCommon& common, const RenameWeight& rename = {});

// Fills the model's parameters and buffers from a file, whatever its extension, with only one tensor of the
// file in memory at a time. Throws as above; the model is then unchanged.
LoadSummary load_weights(torch::nn::Module& model, const std::filesystem::path& path,
                         const ModelCommon& common, const RenameWeight& rename = {});

// Writes a safetensors file with PyTorch's names and a checksum in its metadata, atomically.
void save_weights(const std::vector<NamedTensor>& weights, const std::filesystem::path& path,
                  std::map<std::string, std::string> metadata = {});

// Excludes parameters from training and returns their names. Throws if a pattern selects nothing.
std::vector<std::string> freeze_parameters(Model& model, const std::vector<std::string>& patterns);

// The model as initialised, without its weights and adapter. Every model is built here.
std::unique_ptr<Model> build_structure(const Part<ModelKind>& part, const DataSpec& data);

// Applies the settings common to all models: loads the weights, adds the adapter, then freezes parameters.
std::optional<LoadSummary> apply_common(Model& model, const ModelCommon& common);

}  // namespace runner
