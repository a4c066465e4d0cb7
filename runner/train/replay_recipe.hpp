#pragma once

#include "components/contract/progress.hpp"
#include "runner/train/train_recipe.hpp"

namespace runner {

// Where the replay of recorded steps ends.
struct ReplayEnd {
  std::int64_t step = 0;
  // Updates that were skipped have the step of the one before, so the place in the data counts as well.
  double epoch = 0;
  bool run_ended = false;  // there: what a run does at its end is replayed, too

  bool reached(const Progress& progress) const {
    return progress.step > step || (progress.step == step && progress.exact_epoch >= epoch);
  }
};

// Like train_recipe, but computes the recorded steps of a run again. `options` say where they begin, and
// their times.
RunResult replay_recipe(const Value& resolved, const Registry& registry, World& world,
                        const TrainOptions& options, const ReplayEnd& end);

}  // namespace runner
