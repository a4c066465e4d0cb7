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
// Throws any other error.
std::optional<FoundCheckpoint> newest_checkpoint(const CheckpointStore& store,
                                                 const DamageCheck& check = damage_of_any_file);

// Loads the state of every object. Strict: throws std::runtime_error, which names the state, if one is
// missing, unexpected or does not fit. An object without state, such as some hooks, need not be in the
// checkpoint, or still in the run. Returns a line for the log: what was restored.
std::string restore(const FoundCheckpoint& found,
                    const std::vector<std::pair<std::string, Stateful*>>& objects);

}  // namespace runner
