#include "runner/recipe/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "components/schedulers/learning_rate.hpp"
#include "registry/base/arithmetic.hpp"

namespace runner {

namespace {

std::int64_t steps_over(std::int64_t examples, std::int64_t batch_size, const TrainSection& train) {
  return divide_up(divide_up(examples, batch_size), train.accumulation_steps);
}

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

Plan make_plan(const TrainSection& train, std::int64_t batch_size, std::int64_t examples,
               const std::optional<EarlierPlan>& earlier) {
  Plan plan;
  plan.examples_per_epoch = examples;
  plan.batches_per_epoch = divide_up(examples, batch_size);
  plan.steps_per_epoch = steps_over(examples, batch_size, train);
  const auto per_epoch = static_cast<double>(plan.steps_per_epoch);
  if (earlier) {
    plan.extra_steps = earlier->extra_steps;
    if (earlier->steps_per_epoch != plan.steps_per_epoch) {  // what is left of this epoch is in new batches
      const auto left = std::max<std::int64_t>(0, examples - earlier->cursor.position);
      const std::int64_t steps = earlier->step + steps_over(left, batch_size, train);
      plan.extra_steps =
          static_cast<double>(steps) - static_cast<double>(earlier->cursor.epoch + 1) * per_epoch;
    }
  }
  if (train.epochs) {
    // A hair less, so that 0.1 of 10 steps is 1 and not 2.
    const double steps = *train.epochs * per_epoch + plan.extra_steps;
    plan.total_steps = std::max<std::int64_t>(1, std::llround(std::ceil(steps - 1e-9)));
  }
  if (train.max_steps) {
    plan.total_steps = std::min(plan.total_steps.value_or(*train.max_steps), *train.max_steps);
  }
  if (train.max_time) plan.max_seconds = train.max_time->amount;
  return plan;
}

bool Plan::reached(const Progress& progress) const {
  return (total_steps && progress.step >= *total_steps) || (max_seconds && progress.seconds >= *max_seconds);
}

double Plan::share(const Progress& progress) const {
  double share = 0;
  if (total_steps && *total_steps > 0) {
    share = static_cast<double>(progress.step) / static_cast<double>(*total_steps);
  }
  if (max_seconds) share = std::max(share, progress.seconds / *max_seconds);
  return std::min(share, 1.0);
}

bool schedule_depends_on_length(const Part<SchedulerKind>& scheduler) {
  // The data is not open yet, so several lengths are tried: with milestones in steps and in epochs, only some
  // of them put the milestones in ascending order.
  constexpr std::array<double, 7> possible_epochs{1, 10, 100, 1e3, 1e4, 1e5, 1e6};
  return std::ranges::none_of(possible_epochs, [&](double steps_per_epoch) {
    return can_be_drawn_without_length(scheduler, steps_per_epoch);
  });
}

std::int64_t examples_of_rank(const Recipe& recipe) {
  return recipe.distributed.batch == BatchOf::rank ? recipe.loader.batch_size : 0;
}

}  // namespace runner
