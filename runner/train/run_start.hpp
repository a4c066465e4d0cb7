#pragma once

#include <optional>

#include "runner/checkpoint/resume.hpp"
#include "runner/run_folder/run_folder.hpp"
#include "runner/train/run.hpp"
#include "runner/train/train_recipe.hpp"

namespace runner {

// Where a run starts: new, from a checkpoint, or once more from the beginning.
struct RunStart {
  std::optional<RunFolder> folder;            // of the run that is continued; only rank 0 has it
  std::optional<FoundCheckpoint> checkpoint;  // on every rank
  // A run that is continued: records of later steps no longer count. 0: it was killed before its first
  // checkpoint.
  std::optional<std::int64_t> resumed_at;
};

// Looks for the run that run.dir already holds and its newest complete checkpoint, or takes the checkpoint
// that
// --resume names. Every rank calls it; rank 0 looks. Changes nothing in the folder. Throws if the recipe does
// not fit the run that is there.
RunStart find_start(const Recipe& recipe, const Value& resolved, const Registry& registry, World& world,
                    const TrainOptions& options);

// Seconds of work after the checkpoint that an earlier attempt lost, as far as its records tell. To be read
// before the trackers delete the records of these steps.
double lost_seconds(const RunFolder& folder, const Checkpoint& checkpoint);

// Loads the checkpoint into everything in `run.stateful`.
void restore_run(Run& run, FoundCheckpoint found);

// The files of the best weights become those that the run knows of, after it was restored or started over.
void restore_best_files(Run& run, const std::filesystem::path& folder);

}  // namespace runner
