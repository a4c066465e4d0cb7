#pragma once

#include <functional>
#include <iosfwd>

#include "runner/distributed/join.hpp"

namespace runner {

// Finds the other ranks, works with them and waits for them at the end. What the work throws the others
// learn, and the process ends; after a mistake in the recipe with the exit code for bad input. Returns the
// exit code that the work gives.
int run_rank(const Membership& member, const JoinOptions& options, const std::function<int(World&)>& work,
             std::ostream& messages);

}  // namespace runner
