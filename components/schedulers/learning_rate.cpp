#include "components/schedulers/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "registry/base/log.hpp"

namespace runner {

LearningRate::LearningRate(const Part<SchedulerKind>& part, std::int64_t total_steps, double steps_per_epoch,
                           std::vector<Measured> measured)
    : steps_per_epoch_(steps_per_epoch),
      by_epoch_(part.common.by == ScheduleUnit::epoch),
      warmup_start_(part.common.warmup_start) {
  SchedulerInputs inputs{.run = static_cast<double>(total_steps), .units_per_epoch = steps_per_epoch};
  warmup_ = inputs.stretch(part.common.warmup);
  if (total_steps > 0 && warmup_ > static_cast<double>(total_steps)) {
    throw std::runtime_error(log::format(
        "The warm-up is longer than the run: scheduler.warmup = \"{}\" is {} updates, and the run has {}.",
        to_string(part.common.warmup), warmup_, total_steps));
  }
  inputs.warmup = warmup_;
  if (by_epoch_) {
    inputs = {.run = inputs.run / steps_per_epoch,
              .units_per_step = 1 / steps_per_epoch,
              .warmup = warmup_ / steps_per_epoch};
  }
  inputs.begin = inputs.warmup;
  inputs.measured = std::move(measured);
  scheduler_ = part.build(inputs);
}

double LearningRate::factor(std::int64_t step) const {
  const double done = static_cast<double>(step);
  if (done < warmup_) return warmup_start_ + (1 - warmup_start_) * done / warmup_;
  const double at =
      by_epoch_ ? std::floor(done / steps_per_epoch_) - warmup_ / steps_per_epoch_ : done - warmup_;
  return scheduler_->factor(std::max(0.0, at));
}

}  // namespace runner
