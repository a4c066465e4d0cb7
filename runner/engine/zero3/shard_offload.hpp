#pragma once

#include <torch/types.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "components/optimizers/optimizer.hpp"
#include "runner/engine/distributed_options.hpp"
#include "runner/engine/zero3/sharded_parameters.hpp"

namespace runner {

// Where a rank keeps its part of sharded parameters, and the state of their optimizer: on the device, in main
// memory, or in a temporary file.
class ShardOffload {
 public:
  // Throws if the device or the folder does not allow this kind of offloading.
  ShardOffload(const DistributedOptions& distributed, const torch::Device& device);

  void apply_to(ShardingOptions& options) const;
  // Creates the optimizer so that its state is stored where its parameters are.
  std::unique_ptr<Optimizer> make_optimizer(const std::function<std::unique_ptr<Optimizer>()>& make) const;

 private:
  const Offload kind_;
  std::filesystem::path folder_;  // with Offload::disk
};

}  // namespace runner
