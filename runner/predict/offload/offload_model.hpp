#pragma once

#include <memory>

#include "runner/predict/offload/device_map.hpp"
#include "runner/predict/offload/offloaded_weights.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

struct OffloadOptions {
  DeviceMap map = {};
  std::uint64_t unit_bytes = std::uint64_t{32}
                             << 20;  // size of a unit that is loaded together; a tensor may be larger
};

// A model that need not fit into memory. Call weights->load() after the engine has prepared the model.
struct OffloadedModel {
  std::shared_ptr<Model> model;
  std::unique_ptr<OffloadedWeights> weights;
};

// Builds the model without memory for its parameters, all of which must be in the file or folder `weights`.
// Throws std::runtime_error that says what is missing.
OffloadedModel offload_model(const Recipe& recipe, const DataSpec& data, const std::filesystem::path& weights,
                             const OffloadOptions& options);

}  // namespace runner
