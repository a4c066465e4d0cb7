#pragma once

#include <filesystem>
#include <memory>
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

  // Every folder of a step, the newest first, whether it is complete or not; none without a folder.
  std::vector<std::filesystem::path> all() const;

  // The folder that a checkpoint of this many bytes is written into. Throws IoError where the disk has no
  // room for it.
  std::unique_ptr<TemporaryFolderBeside> begin(std::int64_t step, std::uint64_t bytes) const;

  // Whether there is a checkpoint of this step that is never to be deleted.
  bool is_kept(std::int64_t step) const;

  // Writes it, then moves `latest`, then removes old ones: the newest `keep` stay, and those that are marked
  // as kept. Throws IoError.
  void write(TemporaryFolderBeside& folder, const Checkpoint& checkpoint, const CheckpointSettings& settings,
             std::int64_t keep, const WaitOptions& wait = {}) const;

  // Makes `latest` lead to this checkpoint if it does not: the run continues from it, and a crash may have
  // come between writing a checkpoint and moving `latest`. Throws IoError.
  void point_latest_to(const std::filesystem::path& checkpoint) const;

  // Deletes what a crash left of checkpoints that were being written or removed. In a copy of a run that was
  // made without links (`cp -rL`), `latest` is a folder: it becomes the checkpoint that it is.
  void clear_leftovers() const;

 private:
  void prune(const std::filesystem::path& newest, std::int64_t keep) const;
  void remove(const std::filesystem::path& old) const;
  void adopt_copy_of_latest() const;

  std::filesystem::path folder_;
};

}  // namespace runner
