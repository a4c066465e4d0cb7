#pragma once

#include <optional>

#include "components/contract/interval.hpp"
#include "runner/checkpoint/checkpoint_section.hpp"

namespace runner {

// When a checkpoint is written, and which ones are kept for good: decided from the recipe, the progress of
// the run and what saving costs. Knows nothing of files, threads and ranks.
class CheckpointPolicy {
 public:
  explicit CheckpointPolicy(const CheckpointSection& section);

  bool disabled() const { return disabled_; }  // checkpoint.every = "never"

  // Whether one is due after the update that led from one place to the other.
  bool due(const Progress& before, const Progress& now) const;
  // With "auto": whether enough time has passed since the last one, given what saving costs.
  bool due_by_clock(const Progress& now) const;
  // A signal always saves: the run is to continue later.
  bool at_end(bool interrupted) const { return interrupted || (at_end_ && !disabled_); }
  bool on_exception() const { return on_exception_ && !disabled_; }

  // Whether a checkpoint of this place is never to be deleted: the first one after a multiple of keep_every.
  bool keeps(const Progress& now) const;

  // The run was resumed from a checkpoint of this place; it has been restarted this many times.
  void resumed(const Progress& place, std::int64_t restarts);
  // A checkpoint of this place is being written. So many seconds training waited: for the one before it, for
  // the copy and for the hooks.
  void begun(const Progress& place, double seconds);
  // It is on the disk, and writing it took so long; or there is none after all.
  void written(double seconds);
  void failed() { writing_.reset(); }

 private:
  struct Writing {
    Progress place;
    double waited = 0;  // seconds
  };

  bool automatic_, disabled_, at_end_, on_exception_, async_;
  std::optional<Interval> every_, keep_every_;
  Progress last_ = {};              // of the newest checkpoint on the disk; else where the run started
  std::optional<Writing> writing_;  // the one that is under way
  double processes_ = 1;            // that have worked on the run
  double cost_ = 0;                 // seconds that a checkpoint takes away from training, about
};

}  // namespace runner
