#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "runner/checkpoint/checkpoint.hpp"

namespace runner {

// The checkpoints of one run: checkpoints/step-00000100 .., and `latest`, which leads to the newest complete
// one.
class CheckpointStore {
 public:
  explicit CheckpointStore(const std::filesystem::path& run_folder) : folder_(run_folder / "checkpoints") {}

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path_of(std::int64_t step) const;

  // All that look complete, the newest first; none where there is no folder.
  std::vector<std::filesystem::path> all() const;

  // Writes it, then moves `latest`, then removes old ones: the newest `keep` stay, and those that `keeps`
  // says. Throws IoError where the disk has no room for it.
  void write(const Checkpoint& checkpoint, const CheckpointSettings& settings, std::int64_t keep,
             const std::function<bool(const CheckpointSummary&)>& keeps) const;

  // What a crash left of checkpoints that were being written or removed.
  void clear_leftovers() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace runner
