#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/checkpoint/checkpoint_store.hpp"

namespace runner {

// The steps of a run that are computed again, to compare them with what the run recorded.
struct ReplayRange {
  std::filesystem::path from;
  std::int64_t begin = 0, end = 0;
  std::optional<std::filesystem::path> to = {};  // the checkpoint at its end, if there is one

  std::string text() const;  // "steps 11 to 20"
};

struct ReplayRequest {
  std::int64_t last_step = 0;                // that the run has a record of
  std::optional<std::int64_t> from = {};     // the step of a checkpoint; none: the oldest that will do
  std::optional<std::int64_t> steps = {};    // at most so many; none: up to the next checkpoint
  static constexpr std::int64_t usual = 20;  // steps, where no checkpoint follows
};

// From a complete checkpoint to the next one, or for some steps after the newest. Only checkpoints of one
// rank that were written with the run's present recipe can be compared. Throws std::runtime_error that says
// why there is none.
ReplayRange choose_replay(const std::filesystem::path& run_folder, const ReplayRequest& request);

// A checkpoint to compare. It is opened before the replay starts, and its tensors stay readable if a run that
// is still training deletes it meanwhile.
struct ComparedCheckpoint {
  Checkpoint checkpoint;
  std::map<std::string, std::string> hook_files = {};  // that hooks wrote in formats of their own: SHA-256
};
ComparedCheckpoint open_to_compare(const std::filesystem::path& folder);

// The first tensor that differs between two checkpoints of the same step, bit by bit, or a tensor or state
// that only one of them has: "the tensor \"model fc1.weight\"". Empty: none.
std::string first_difference(const Checkpoint& recorded, const Checkpoint& replayed);

// What such a comparison cannot tell: a file of a hook whose bytes differ, which may mean the same, and a
// model that a hook took out of the checkpoint without writing a file there. For people, each a phrase.
std::vector<std::string> not_compared(const ComparedCheckpoint& recorded, const ComparedCheckpoint& replayed);

}  // namespace runner
