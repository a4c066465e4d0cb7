#pragma once

#include <cstdint>
#include <optional>

#include "components/contract/progress.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// The earlier plan of a resumed run, and how far the run is.
struct EarlierPlan {
  std::int64_t steps_per_epoch = 0;
  double extra_steps = 0;
  std::int64_t step = 0;
  Cursor cursor = {};
};

// The length of the run, computed before it starts.
struct Plan {
  std::int64_t examples_per_epoch = 0;
  std::int64_t batches_per_epoch = 0;
  std::int64_t steps_per_epoch = 0;
  // A run resumed with another batch size or number of ranks has done more steps (or fewer, if negative) than
  // its epochs now have. It still ends after the same number of epochs.
  double extra_steps = 0;
  std::optional<std::int64_t> total_steps;  // none: only the clock ends the run
  std::optional<double> max_seconds;

  // The length that schedules are computed over; 0: unknown. A run without updates (train.max_steps = 0)
  // never uses a learning rate, so any length will do.
  std::int64_t schedule_steps() const {
    return total_steps == 0 ? std::int64_t{1} << 40 : total_steps.value_or(0);
  }

  bool reached(const Progress& progress) const;
  double share(const Progress& progress) const;  // of the run that is done, 0 to 1
};

// `batch_size`: of one micro-batch, over all ranks.
Plan make_plan(const TrainSection& train, std::int64_t batch_size, std::int64_t examples,
               const std::optional<EarlierPlan>& earlier = {});

// Whether the schedule is computed over the whole run, so that a longer or shorter run has other learning
// rates from its first step.
bool schedule_depends_on_length(const Part<SchedulerKind>& scheduler);

// The examples in a micro-batch of one rank, if more ranks mean larger batches; otherwise 0.
std::int64_t examples_of_rank(const Recipe& recipe);

}  // namespace runner
