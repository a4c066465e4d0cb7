#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "registry/registry.hpp"
#include "registry/value.hpp"
#include "runner/engine/world.hpp"
#include "runner/runs/run_result.hpp"

namespace runner {

struct TrainOptions {
  std::string recipe_file;
  bool dry_run = false;  // two steps and one evaluation; leaves no files
  bool quiet = false;    // only messages on the terminal
  bool force = false;    // continue a run with a recipe or data that changes its results
  std::optional<std::filesystem::path> resume_from = {};        // a checkpoint that a new run starts from
  std::optional<std::int64_t> interrupt_at = {};                // stop after this step as if by a signal
  std::function<double(std::int64_t step)> recorded_time = {};  // LoopControl::recorded_time
  // When start-up began; default: when this object was created.
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

// Sets the number of threads, determinism and memory handling of this process as the recipe asks. The program
// calls it once, before train_recipe and before it computes anything.
void set_up_process(const Value& resolved, const Registry& registry, const World& world);

// Trains a recipe: starts a run, or continues the one in run.dir. `resolved` is a complete, conformed recipe.
// If the run fails, the failure is written to the run folder and the error is thrown. A mistake in the recipe
// or a checkpoint that does not fit leaves the run in the folder as it was.
RunResult train_recipe(const Value& resolved, const Registry& registry, World& world,
                       const TrainOptions& options);

}  // namespace runner
