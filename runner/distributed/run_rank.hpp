#pragma once

#include <functional>
#include <iosfwd>

#include "runner/distributed/join.hpp"

namespace runner {

// The exit code of a rank after a mistake in the recipe: all ranks find it, and would find it again.
constexpr int bad_input_code = 2;

// Finds the other ranks, does the work with them and waits for them at the end. Returns the exit code of the
// work. If it throws, the other ranks are told and the process ends; after a mistake in the recipe, with
// bad_input_code.
int run_rank(const Membership& member, const JoinOptions& options, const std::function<int(World&)>& work,
             std::ostream& messages);

}  // namespace runner
