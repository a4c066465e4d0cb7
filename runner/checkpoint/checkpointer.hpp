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
#include "runner/engine/time_ledger.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Saves a run when its policy says so. Training waits for a copy of the state in memory, and for the hooks;
// writing happens in the background. One checkpoint is written at a time: a second one waits for the first.
// What goes wrong in the background is thrown by the next call.
class Checkpointer {
 public:
  using States = std::vector<std::pair<std::string, Stateful*>>;

  // Which states have a part on each rank, and how long ranks wait for each other.
  struct Ranks {
    World& world;
    std::set<std::string> sharded_states = {};
    std::chrono::milliseconds timeout{600000};
  };

  // Rank 0 writes, and every rank the parts that it has of sharded states. The hooks are called while
  // training waits.
  Checkpointer(const CheckpointSection& section, const std::filesystem::path& run_folder,
               const States& states, TimeLedger& times, std::map<std::string, std::string> texts,
               std::map<std::string, std::string> versions, Ranks ranks,
               std::vector<ModelStatesHook> hooks = {});
  ~Checkpointer();

  // The run was resumed from a checkpoint of this place: intervals count from there. Says what differs from
  // what wrote that checkpoint: versions, plugins, the number of ranks.
  void resumed(const Progress& place);

  // What the last evaluation measured, to stand in the manifest.
  void measured(const Measurements& metrics);

  // Whether one is due after this update. Only the rank that writes knows.
  bool due(const Progress& before, const Progress& now) const;
  // After every update: saves where that is wanted.
  void after_step(const Progress& now, bool wanted);
  // When the loop has ended. Waits until everything is on the disk.
  void at_end(const Progress& now, bool interrupted);
  // When it failed between two updates: saves what there is, if it can.
  void on_exception(const Progress& now) noexcept;

  // Whether the disk holds a checkpoint of this step or a later one, or there are to be none.
  bool covers(std::int64_t step) const { return policy_.disabled() || durable_step_ >= step; }

 private:
  using Job = std::function<void()>;

  void save(const Progress& now);
  Checkpoint take(const Progress& now);
  void call_hooks(Checkpoint& checkpoint) const;
  Job writing(Checkpoint checkpoint);
  void start(Job job, std::int64_t step);
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
  std::atomic<bool> cancelled_ = false;  // others need not be waited for any longer
  const std::vector<ModelStatesHook> hooks_;
  std::map<std::string, double> metrics_;
  std::optional<std::int64_t> saved_examples_;  // of the newest checkpoint: the same moment is saved once
  std::int64_t writing_step_ = -1, durable_step_ = -1;
  std::future<double> writing_;  // gives the seconds that writing took
};

}  // namespace runner
