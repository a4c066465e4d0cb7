#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runner/checkpoint/checkpoint_policy.hpp"
#include "runner/checkpoint/checkpoint_store.hpp"
#include "runner/engine/runtime/device_copies.hpp"
#include "runner/engine/runtime/time_ledger.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Saves a run when its policy says so. Training waits for a copy of the state in memory, and for the hooks;
// writing happens in the background. One checkpoint is written at a time: a second one waits for the first.
// An error in the background is thrown by the next call.
class Checkpointer {
 public:
  using States = std::vector<std::pair<std::string, Stateful*>>;

  // Which states have a part on each rank, and how long ranks wait for each other.
  struct Ranks {
    World& world;
    std::set<std::string> sharded_states = {};
    std::chrono::milliseconds timeout{600000};
    std::int64_t examples_of_rank = 0;  // in a micro-batch, if more ranks mean larger updates
  };

  // Rank 0 writes the checkpoint; every rank writes its parts of sharded states. The hooks are called while
  // training waits.
  Checkpointer(const CheckpointSection& section, const std::filesystem::path& run_folder,
               const States& states, TimeLedger& times, std::map<std::string, std::string> texts,
               std::map<std::string, std::string> versions, Ranks ranks,
               std::vector<ModelStatesHook> hooks = {});
  ~Checkpointer();

  // The run was resumed from a checkpoint with this progress: intervals count from there. Logs what has
  // changed since it was written: versions, plugins, the number of ranks.
  void resumed(const Progress& place);

  // The metrics of the last evaluation, for the manifest.
  void measured(const Measurements& metrics);

  // Whether a checkpoint is due after this update (the same on every rank), and whether one is due by the
  // clock (decided on rank 0 only).
  bool due(const Progress& before, const Progress& now) const { return policy_.due(before, now); }
  bool due_by_clock(const Progress& now) const { return is_writer_ && policy_.due_by_clock(now); }
  // After every update: saves if `wanted`.
  void after_step(const Progress& now, bool wanted);
  // After the loop has ended. Waits until everything is on disk.
  void at_end(const Progress& now, bool interrupted);
  // After the loop has failed between two updates: saves the state if possible.
  void on_exception(const Progress& now) noexcept;

  // Whether a checkpoint of this step or a later one is on disk, or checkpoints are disabled and there are
  // none. With checkpoint.every = "never", a signal still leaves one.
  bool covers(std::int64_t step) const {
    const bool any = found_any_ || writing_step_ >= 0;
    return durable_step_ >= step || (policy_.disabled() && !any);
  }

 private:
  using Job = std::function<void()>;

  void save(const Progress& now);
  Checkpoint take(const Progress& now, HostCopies& copies);
  Job prepare(Checkpoint checkpoint, const HostCopies& copies);
  void start(Job job, const Progress& now, double waited);
  void wait();
  void agree_on_failure(const std::string& own) const;

  const bool async_;
  const std::int64_t keep_;
  const CheckpointSettings settings_;
  CheckpointPolicy policy_;
  CheckpointStore store_;
  const States& states_;
  TimeLedger& times_;
  std::map<std::string, std::string> texts_, versions_;
  const Ranks ranks_;
  const bool is_writer_;
  const bool found_any_;                 // whether the run had checkpoints when this process began
  std::atomic<bool> cancelled_ = false;  // stops waiting for the parts of other ranks
  const std::vector<ModelStatesHook> hooks_;
  std::set<std::filesystem::path> damaged_;  // checkpoints that the run could not be resumed from
  std::map<std::string, double> metrics_;
  std::optional<std::int64_t> saved_examples_;  // examples seen at the last checkpoint, also if still written
  std::int64_t writing_step_ = -1, durable_step_ = -1;
  std::future<double> writing_;  // gives the seconds that writing took
};

}  // namespace runner
