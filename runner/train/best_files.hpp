#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runner/train/training_run.hpp"

namespace runner {

// The weights of the best evaluations of a run: best/step-00000100.safetensors for each that is kept, with
// what was measured in its metadata, and best.safetensors, which is the best of them.
class BestFiles {
 public:
  explicit BestFiles(std::filesystem::path run_folder) : folder_(std::move(run_folder)) {}

  // After an evaluation that is among the best. Every rank takes part, rank 0 writes.
  void write(Run& run) const;
  // Deletes files that are no longer among the best. Call it only when no checkpoint refers to them.
  void remove_displaced(BestModel& best) const;

  // After loading a checkpoint: the steps whose files are missing or damaged. Throws if one cannot be read
  // for another reason, such as a failing disk.
  std::vector<std::int64_t> unusable(const BestModel& best) const;
  // Deletes files of evaluations that are not in the checkpoint, and makes best.safetensors the best of the
  // others. Keeps files that the user has named.
  void restore(const BestModel& best) const;

  // The files in the run folder, the best one first.
  struct Listed {
    std::filesystem::path file;
    BestModel::Kept kept = {};
    std::string metric = {};
    std::uint64_t bytes = 0;
    std::string damage = {};  // why it cannot be read; empty: it can
  };
  std::vector<Listed> all() const;
  std::filesystem::path path_of(std::int64_t step) const;

 private:
  std::filesystem::path subfolder() const { return folder_ / "best"; }
  std::vector<std::filesystem::path> files() const;
  void lead_to(std::int64_t step) const;

  std::filesystem::path folder_;
};

}  // namespace runner
