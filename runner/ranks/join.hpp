#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "runner/engine/distributed_options.hpp"
#include "runner/engine/world.hpp"
#include "runner/ranks/membership.hpp"

namespace runner {

struct JoinOptions {
  std::chrono::milliseconds timeout{600000};
  bool check_collectives = false;
  std::optional<int> gpu = {};  // the GPU that this rank computes on
};

// The options from the recipe, for a rank that computes on this device. Throws std::runtime_error if device
// and backend do not fit.
JoinOptions join_options(const DistributedOptions& distributed, const std::string& device,
                         const Place& place);

// Finds the other ranks and returns when all have joined. Without `member`, a world of this process alone.
std::unique_ptr<World> join_world(const std::optional<Membership>& member, const JoinOptions& options);

}  // namespace runner
