#pragma once

#include <memory>

#include "components/schedulers/scheduler.hpp"

namespace runner {

// The learning rate of every update of a run, as a multiple of the optimizer's: warm-up, then the schedule.
class LearningRate {
 public:
  // total_steps 0: unknown, because only time limits the run. Throws if the warm-up is longer than the run.
  LearningRate(const Part<SchedulerKind>& part, std::int64_t total_steps, double steps_per_epoch,
               std::vector<Measured> measured = {});

  double factor(std::int64_t step) const;  // for the update after `step` updates
  Scheduler& schedule() { return *scheduler_; }

 private:
  double steps_per_epoch_;
  bool by_epoch_;
  double warmup_;  // in updates
  double warmup_start_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace runner
