#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "runner/distributed/membership.hpp"
#include "runner/engine/distributed_options.hpp"
#include "runner/engine/world.hpp"

namespace runner {

struct JoinOptions {
  std::chrono::milliseconds timeout{600000};
  bool check_collectives = false;
  std::optional<int> gpu = {};  // that this rank computes on
};

// What the recipe says of it, for a rank that computes on this device. Throws std::runtime_error where
// device and backend do not fit.
JoinOptions join_options(const DistributedSection& distributed, const std::string& device,
                         const Place& place);

// Finds the other ranks and returns when all are there. A world of one where this process is the only one.
std::unique_ptr<World> join_world(const std::optional<Membership>& member, const JoinOptions& options);

}  // namespace runner
