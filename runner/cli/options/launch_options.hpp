#pragma once

#include "runner/cli/command.hpp"
#include "runner/cli/problem.hpp"
#include "runner/ranks/launch/launch_ranks.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner::cli {

// Options that are wrong or contradict each other.
struct BadLaunch {
  Problem problem;
};

// The options of `runner launch`. Throws BadLaunch or BadNumber.
LaunchOptions launch_options(const Arguments& arguments, const Environment& environment,
                             const Recipe& recipe);

// Whether the recipe can be trained on this many ranks; if not, the diagnostics say why.
bool fits_ranks(const Value& resolved, const Recipe& recipe, int ranks, Diagnostics& diagnostics);

// Throws BadLaunch if an option asks for more ranks than this machine can run.
void require_room(const std::string& option, std::int64_t ranks);

}  // namespace runner::cli
