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
  bool dry_run = false;  // two steps and one evaluation; leaves no files
  bool quiet = false;    // nothing on the terminal but messages
  bool force = false;    // continue a run with a recipe that changes its results
  std::optional<std::filesystem::path> resume_from = {};  // a checkpoint that a new run starts from
  std::optional<std::int64_t> interrupt_at = {};          // stop after this step as if by a signal
};

// Trains a recipe: starts a run, or continues the one in run.dir. `resolved` is a complete, conformed recipe.
// If the run fails, the failure is written to the run folder and the error is thrown.
RunResult train_recipe(const Value& resolved, const Registry& registry, World& world,
                       const TrainOptions& options);

}  // namespace runner
