#pragma once

#include <memory>

#include "runner/inference/offload/device_map.hpp"
#include "runner/inference/offload/offloaded_weights.hpp"
#include "runner/recipe.hpp"

namespace runner {

struct OffloadOptions {
  DeviceMap map = {};
  std::uint64_t unit_bytes = std::uint64_t{32}
                             << 20;  // what comes into memory together; a tensor may be larger
};

// A model that need not fit into memory. Its weights have to be loaded when the engine has prepared it.
struct OffloadedModel {
  std::shared_ptr<Model> model;
  std::unique_ptr<OffloadedWeights> weights;
};

// Built without memory for its parameters, all of which are in the file or folder `weights`. Throws
// std::runtime_error that says what is missing.
OffloadedModel offload_model(const Recipe& recipe, const DataSpec& data, const std::filesystem::path& weights,
                             const OffloadOptions& options);

}  // namespace runner
