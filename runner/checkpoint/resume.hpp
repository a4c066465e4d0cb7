#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/checkpoint/checkpoint_store.hpp"

namespace runner {

struct FoundCheckpoint {
  std::filesystem::path folder;
  Checkpoint checkpoint;
};

// The newest complete checkpoint of a run; damaged and incomplete ones are named in the log and skipped.
std::optional<FoundCheckpoint> newest_checkpoint(const CheckpointStore& store);

// Gives every object its state back. Strict: throws std::runtime_error that names a state that is missing,
// that nothing here has, or that does not fit. Returns a line for people: what was restored.
std::string restore(const FoundCheckpoint& found,
                    const std::vector<std::pair<std::string, Stateful*>>& objects);

}  // namespace runner
