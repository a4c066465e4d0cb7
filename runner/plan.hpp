#pragma once

#include <cstdint>
#include <optional>

#include "components/contract/progress.hpp"
#include "runner/recipe.hpp"

namespace runner {

// How a run that is continued was planned before, and how far it has come.
struct EarlierPlan {
  std::int64_t steps_per_epoch = 0;
  double extra_steps = 0;
  std::int64_t step = 0;
  double exact_epoch = 0;
};

// How long the run is, worked out before it starts.
struct Plan {
  std::int64_t examples_per_epoch = 0;
  std::int64_t batches_per_epoch = 0;
  std::int64_t steps_per_epoch = 0;
  // Steps that the run has made more than its epochs have now: it was continued with batches of another size,
  // as on another number of ranks, and ends after as many epochs all the same.
  double extra_steps = 0;
  std::optional<std::int64_t> total_steps;  // none: only the clock ends the run
  std::optional<double> max_seconds;

  // What schedules are drawn over; 0: unknown. A run without updates (train.max_steps = 0) never asks for a
  // rate, so that any length does.
  std::int64_t schedule_steps() const {
    return total_steps == 0 ? std::int64_t{1} << 40 : total_steps.value_or(0);
  }

  bool reached(const Progress& progress) const;
  double share(const Progress& progress) const;  // of the run that is done, 0 to 1
};

// `batch_size`: of one micro-batch, over all ranks.
Plan make_plan(const TrainSection& train, std::int64_t batch_size, std::int64_t examples,
               const std::optional<EarlierPlan>& earlier = {});

}  // namespace runner
