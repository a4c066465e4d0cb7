#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "runner/checkpoint/checkpoint.hpp"

namespace runner {

// The checkpoints of one run: checkpoints/step-00000100 .., and the link `latest` to the newest complete one,
// if the file system has symbolic links.
class CheckpointStore {
 public:
  explicit CheckpointStore(const std::filesystem::path& run_folder) : folder_(run_folder / "checkpoints") {}

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path_of(std::int64_t step) const;

  // The folders of all steps, complete or not, the newest first; empty if the run has no checkpoints. Throws
  // IoError if that cannot be found out.
  std::vector<std::filesystem::path> all() const;

  // Creates the temporary folder for a checkpoint of this many bytes. Throws IoError if the disk has no room
  // for it.
  std::unique_ptr<TemporaryFolderBeside> begin(std::int64_t step, std::uint64_t bytes) const;

  // Whether a checkpoint of this step exists that is never deleted; also true if that cannot be read now.
  bool is_kept(std::int64_t step) const;

  // Writes the checkpoint, then moves `latest`, then removes old checkpoints, except the newest `keep` and
  // those that are marked as kept. Some may be known to be damaged although their manifests can be read: they
  // do not count. Throws IoError.
  void write(TemporaryFolderBeside& folder, const Checkpoint& checkpoint, const CheckpointSettings& settings,
             std::int64_t keep, const WaitOptions& wait = {},
             const std::set<std::filesystem::path>& damaged = {}) const;

  // Makes `latest` point to this checkpoint if it does not: a crash may have happened between writing a
  // checkpoint and moving `latest`. Throws IoError. Only warns on a file system without symbolic links.
  void point_latest_to(const std::filesystem::path& checkpoint) const;

  // Deletes what a crash left of checkpoints that were being written or removed. In a copy of a run that was
  // made without links (`cp -rL`), `latest` is a folder: it becomes step-.., or is deleted if that is intact.
  void clear_leftovers() const;

 private:
  void prune(const std::filesystem::path& newest, std::int64_t keep,
             const std::set<std::filesystem::path>& damaged) const;
  void remove(const std::filesystem::path& old) const;
  void adopt_copy_of_latest() const;

  std::filesystem::path folder_;
};

}  // namespace runner
