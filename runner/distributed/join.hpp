#pragma once

#include <chrono>
#include <memory>

#include "runner/distributed/membership.hpp"
#include "runner/engine/world.hpp"

namespace runner {

struct JoinOptions {
  std::chrono::milliseconds timeout{600000};
  bool check_collectives = false;
  bool cuda = false;
};

// Finds the other ranks and returns when all are there. A world of one where this process is the only one.
std::unique_ptr<World> join_world(const std::optional<Membership>& member, const JoinOptions& options);

}  // namespace runner
