#pragma once

#include <optional>

#include "components/contract/interval.hpp"
#include "runner/checkpoint/checkpoint_section.hpp"

namespace runner {

// Decides when a checkpoint is written, and which ones are never deleted: from the recipe, the progress of
// the run and the cost of saving. Knows nothing of files, threads and ranks.
class CheckpointPolicy {
 public:
  explicit CheckpointPolicy(const CheckpointSection& section);

  bool disabled() const { return disabled_; }  // checkpoint.every = "never"

  // Whether a checkpoint is due after the update that led from `before` to `now`.
  bool due(const Progress& before, const Progress& now) const;
  // With "auto": whether enough time has passed since the last checkpoint, given what saving costs.
  bool due_by_clock(const Progress& now) const;
  // A signal always saves, so that the run can continue later.
  bool at_end(bool interrupted) const { return interrupted || (at_end_ && !disabled_); }
  bool on_exception() const { return on_exception_ && !disabled_; }

  // Whether a checkpoint taken now is never deleted: the first one after a multiple of keep_every.
  bool keeps(const Progress& now) const;

  // The run was resumed at this progress; it has been restarted this many times.
  void resumed(const Progress& place, std::int64_t restarts);
  // Writing of a checkpoint begins. `seconds`: how long training waited, for the previous checkpoint, the
  // copy in memory and the hooks.
  void begun(const Progress& place, double seconds);
  // Writing took this many seconds; or it failed.
  void written(double seconds);
  void failed() { writing_.reset(); }

 private:
  struct Writing {
    Progress place;
    double waited = 0;  // seconds
  };

  bool automatic_, disabled_, at_end_, on_exception_, async_;
  std::optional<Interval> every_, keep_every_;
  Progress last_ = {};              // of the newest checkpoint on disk, or of the start of the run
  std::optional<Writing> writing_;  // the checkpoint being written
  double processes_ = 1;            // number of processes so far: 1 + restarts
  double cost_ = 0;                 // estimated seconds of training that a checkpoint costs
};

}  // namespace runner
