#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/checkpoint/checkpoint_store.hpp"

namespace runner {

// The steps of a run that are computed again and compared with what the run recorded.
struct ReplayRange {
  std::filesystem::path from;
  std::int64_t begin = 0, end = 0;
  std::optional<std::filesystem::path> to = {};  // the checkpoint at the end, if there is one

  std::string text() const;  // "steps 11 to 20"
};

struct ReplayRequest {
  std::int64_t last_step = 0;                // the last step in the records of the run
  std::optional<std::int64_t> from = {};     // the step of a checkpoint; none: the oldest suitable one
  std::optional<std::int64_t> steps = {};    // at most this many; none: up to the next checkpoint
  static constexpr std::int64_t usual = 20;  // number of steps if no checkpoint follows
};

// Chooses a complete checkpoint to start from; the range ends at the next one, or some steps after the
// newest. Only checkpoints of a single rank that were written with the run's current recipe can be compared.
// Throws std::runtime_error that says why if there is none.
ReplayRange choose_replay(const std::filesystem::path& run_folder, const ReplayRequest& request);

// A checkpoint to compare. It is opened before the replay starts, and its tensors stay readable if a run that
// is still training deletes it meanwhile.
struct ComparedCheckpoint {
  Checkpoint checkpoint;
  std::map<std::string, std::string> hook_files = {};  // SHA-256 of files that hooks wrote, by name
};
ComparedCheckpoint open_to_compare(const std::filesystem::path& folder);

// The first tensor whose bits differ between two checkpoints of the same step, or a tensor or state that only
// one of them has: "the tensor \"model fc1.weight\"". Empty: none.
std::string first_difference(const Checkpoint& recorded, const Checkpoint& replayed);

// What could not be compared, as phrases to show: files of hooks whose bytes differ, which may still mean the
// same, and a model that a hook removed from the checkpoint without writing a file.
std::vector<std::string> not_compared(const ComparedCheckpoint& recorded, const ComparedCheckpoint& replayed);

}  // namespace runner
