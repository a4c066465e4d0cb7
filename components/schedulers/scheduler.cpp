#include "components/schedulers/scheduler.hpp"

#include "registry/base/wording.hpp"

#include <cmath>
#include <stdexcept>

namespace runner {

namespace {

// "0.07run" of 100 updates is 7, not 7.000000000000001, so that a milestone is not one update late.
double without_rounding_error(double amount) {
  const double whole = std::round(amount);
  return std::abs(amount - whole) < 1e-9 * std::max(1.0, whole) ? whole : amount;
}

double known_length(double run) {
  if (run > 0) return run;
  throw std::runtime_error(
      "The schedule needs the length of the run, but only time limits it: give train.epochs or "
      "train.max_steps, or all of the schedule's durations in \"step\" or \"ep\".");
}

double units(const Duration& duration, const SchedulerInputs& inputs) {
  switch (duration.unit) {
    case Duration::Unit::epoch: return without_rounding_error(duration.amount * inputs.units_per_epoch);
    case Duration::Unit::step: return without_rounding_error(duration.amount * inputs.units_per_step);
    case Duration::Unit::run: return without_rounding_error(duration.amount * known_length(inputs.run));
    case Duration::Unit::second:
    case Duration::Unit::never: break;
  }
  throw std::runtime_error("A schedule cannot be measured in time (" + in_quotes(to_string(duration)) +
                           "): use \"ep\", \"step\" or \"run\".");
}

}  // namespace

double SchedulerInputs::stretch(const std::optional<Duration>& length) const {
  if (length) return units(*length, *this);
  return (end > 0 ? end : known_length(run)) - begin;
}

double SchedulerInputs::moment(const Duration& since_start) const {
  return units(since_start, *this) - begin;
}

}  // namespace runner
