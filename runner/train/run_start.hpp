#pragma once

#include <optional>

#include "runner/checkpoint/resume.hpp"
#include "runner/process/input_error.hpp"
#include "runner/runs/run_folder.hpp"
#include "runner/train/train_recipe.hpp"
#include "runner/train/training_run.hpp"

namespace runner {

// Where a run starts: new, from a checkpoint, or once more from the beginning.
struct RunStart {
  std::optional<RunFolder> folder;            // of the run that is continued; only rank 0 has it
  std::optional<FoundCheckpoint> checkpoint;  // known on every rank
  bool of_another_run = false;                // whether the checkpoint is; known on every rank
  // If a run is continued: the step it continues from; records of later steps are dropped. -1: it was killed
  // before its first checkpoint.
  std::optional<std::int64_t> resumed_at;
  // Whether a run that has ended may train on: its length, its hooks or its course have changed, or it is a
  // new run.
  bool reopens = false;

  bool from_checkpoint() const { return of_another_run || resumed_at.value_or(-1) >= 0; }
};

// The checkpoint that the run was to start from (TrainOptions::resume_from) is missing, damaged, or does not
// fit.
struct UnusableCheckpoint : InputError {
  using InputError::InputError;
};
// Finds the run in run.dir and its newest complete checkpoint. Without one, takes the checkpoint of another
// run that is given with --resume, or that the run was started from. Every rank calls it; rank 0 searches.
// Throws RecipeError if the recipe does not fit the run in the folder. If it throws, the run is as it was.
RunStart find_start(const Recipe& recipe, const Value& resolved, const Registry& registry, World& world,
                    const TrainOptions& options);

// Why a run without a complete checkpoint cannot start once more from its beginning; "" if it can.
std::string why_not_started_over(const std::filesystem::path& run);

// The checkpoint of another run that the run in this folder was started from.
std::optional<std::filesystem::path> noted_start(const std::filesystem::path& run);

// Notes in the folder which checkpoint of another run it starts from, so that the same command continues it.
void note_start(const RunFolder& folder, const RunStart& start, const TrainOptions& options);

// Seconds of work after the checkpoint that an earlier attempt lost, according to its records. Call it before
// the trackers delete the records of these steps.
double lost_seconds(const RunFolder& folder, const Checkpoint& checkpoint);
// Warns if metrics.jsonl ends before the last record that the checkpoint knows of.
void warn_about_missing_records(const RunFolder& folder, const Checkpoint& checkpoint);

// Loads the checkpoint into everything in `run.stateful`.
void restore_run(Run& run, FoundCheckpoint found);

// Makes the files of the best weights match the state of the run, after it was restored or started over.
void restore_best_files(Run& run, const std::filesystem::path& folder);

}  // namespace runner
