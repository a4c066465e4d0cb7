#pragma once

#include <memory>

#include "runner/predict/offload/device_map.hpp"
#include "runner/predict/offload/offloaded_weights.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

struct OffloadOptions {
  DeviceMap map = {};
  std::vector<Capacity> most = {};  // for an automatic map, the first is filled first; empty: what is free
  std::uint64_t unit_bytes = std::uint64_t{32}
                             << 20;  // size of a unit that is loaded together; a tensor may be larger
};

// A model that need not fit into memory. Call weights->load() after the engine has prepared the model.
struct OffloadedModel {
  std::shared_ptr<Model> model;
  std::unique_ptr<OffloadedWeights> weights;
};

// The same for a model that has been built without memory for its parameters. Its buffers are filled at once.
// Throws std::runtime_error if the file does not fit.
std::unique_ptr<OffloadedWeights> offload_weights(const torch::nn::Module& model,
                                                  const std::filesystem::path& weights,
                                                  const torch::Device& device, torch::MemoryFormat layout,
                                                  const OffloadOptions& options,
                                                  const RenameWeight& rename = {});
// Where each parameter of a model would be.
std::vector<std::pair<std::string, std::string>> places_of_parameters(const torch::nn::Module& model,
                                                                      const torch::Device& device,
                                                                      const OffloadOptions& options);

// Builds the model without memory for its parameters, all of which must be in the file or folder `weights`.
// Throws std::runtime_error that says what is missing.
OffloadedModel offload_model(const Recipe& recipe, const DataSpec& data, const std::filesystem::path& weights,
                             const OffloadOptions& options);

}  // namespace runner
