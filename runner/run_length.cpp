#include "runner/run_length.hpp"

#include <algorithm>
#include <array>

#include "components/schedulers/support/learning_rate.hpp"

namespace runner {

namespace {

bool can_be_drawn_without_length(const Part<SchedulerKind>& scheduler, double steps_per_epoch) {
  constexpr std::int64_t unknown = 0;
  try {
    const LearningRate drawn(scheduler, unknown, steps_per_epoch);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

bool schedule_depends_on_length(const Part<SchedulerKind>& scheduler) {
  // The data is not open yet. Milestones in steps and in epochs rise only with some lengths of an epoch.
  constexpr std::array<double, 7> possible_epochs{1, 10, 100, 1e3, 1e4, 1e5, 1e6};
  return std::ranges::none_of(possible_epochs, [&](double steps_per_epoch) {
    return can_be_drawn_without_length(scheduler, steps_per_epoch);
  });
}

}  // namespace runner
