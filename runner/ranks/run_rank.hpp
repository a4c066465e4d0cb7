#pragma once

#include <functional>
#include <iosfwd>

#include "runner/ranks/join.hpp"

namespace runner {

// Finds the other ranks, does the work with them and waits for them at the end. Returns the exit code of the
// work. If it throws, the other ranks are told and the process ends; after a mistake in the recipe or
// an InputError, with Exit::bad_input.
int run_rank(const Membership& member, const JoinOptions& options, const std::function<int(World&)>& work,
             std::ostream& messages);

}  // namespace runner
