#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "registry/registry.hpp"
#include "registry/value.hpp"
#include "runner/engine/world.hpp"
#include "runner/run_folder/run_result.hpp"

namespace runner {

struct TrainOptions {
  std::string recipe_file;
  bool dry_run = false;  // two steps, one evaluation, nothing is left
  bool quiet = false;    // nothing on the terminal but messages
  bool force = false;    // continue a run although the recipe changes its course
  std::optional<std::filesystem::path> resume_from = {};  // a checkpoint that a new run begins with
  std::optional<std::int64_t> interrupt_at = {};  // a step after which it ends as a signal would end it
};

// Trains what the recipe says: starts a run, or continues the one that is in run.dir. `resolved` is a whole,
// conformed recipe. Throws what makes the run fail, once the run folder says so too.
RunResult train_recipe(const Value& resolved, const Registry& registry, World& world,
                       const TrainOptions& options);

}  // namespace runner
