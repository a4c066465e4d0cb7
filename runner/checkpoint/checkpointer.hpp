#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "components/contract/interval.hpp"
#include "runner/checkpoint/checkpoint_section.hpp"
#include "runner/checkpoint/checkpoint_store.hpp"
#include "runner/engine/time_ledger.hpp"

namespace runner {

// Saves a run when it is due. Training waits for a copy of the state in memory; writing goes on in the
// background. One checkpoint is written at a time: a second one waits for the first. What goes wrong in the
// background is thrown by the next call.
class Checkpointer {
 public:
  using States = std::vector<std::pair<std::string, Stateful*>>;

  // `writes`: whether this rank does. Every rank saves, because a state may be spread over all of them.
  Checkpointer(const CheckpointSection& section, const std::filesystem::path& run_folder,
               const States& states, TimeLedger& times, std::map<std::string, std::string> texts,
               std::map<std::string, std::string> versions, bool writes = true);
  ~Checkpointer();

  // What the run measured last, to stand in the manifest.
  void measured(const Measurements& measurements);

  // Whether one is due after this update. Only the rank that writes knows.
  bool due(const Progress& before, const Progress& now) const;
  // After every update: saves where that is wanted.
  void after_step(const Progress& now, bool wanted);
  // When the loop has ended. Waits until everything is on the disk.
  void at_end(const Progress& now, bool interrupted);
  // When it failed between two updates: saves what there is, if it can.
  void on_exception(const Progress& now) noexcept;

  std::int64_t written() const { return written_; }

 private:
  using Clock = std::chrono::steady_clock;

  void save(const Progress& now);
  void wait();

  CheckpointSection section_;
  CheckpointStore store_;
  const States& states_;
  TimeLedger& times_;
  std::map<std::string, std::string> texts_, versions_;
  const bool writes_;
  std::map<std::string, double> measurements_;
  std::optional<Interval> interval_;  // none: "auto" or "never"
  std::optional<Interval> keep_every_;
  std::optional<std::int64_t> saved_samples_;  // of the newest checkpoint: the same moment is saved once
  double last_seconds_ = 0;                    // of the run, when the newest was taken
  double cost_ = 0;                            // seconds that a checkpoint takes away from training, about
  std::int64_t written_ = 0;
  std::future<double> writing_;  // gives the seconds that writing took
};

}  // namespace runner
