#pragma once

#include <string>

#include "registry/registry.hpp"
#include "registry/value.hpp"

namespace runner {

struct RunOptions {
  std::string recipe_file;
  bool dry_run = false;  // two steps, one evaluation, nothing left behind
};

// Trains what the recipe says and returns the exit code: 0 done, 128 + signal when a signal ended it after
// saving. Throws what makes the run fail. `resolved` is a whole, conformed recipe.
int run_recipe(const Value& resolved, const Registry& registry, const RunOptions& options);

}  // namespace runner
