#pragma once

#include <functional>
#include <string>

#include "components/contract/outcome.hpp"
#include "runner/train/journal.hpp"
#include "runner/train/replay_recipe.hpp"
#include "runner/train/training_run.hpp"

namespace runner {

class Checkpointer;

// How the loop is controlled from outside.
struct LoopControl {
  std::function<int()> signal;                    // the signal that asks the run to stop; 0: none
  std::filesystem::path folder;                   // the run folder
  std::function<bool()> checkpoint_asked = {};    // since the last call
  Checkpointer* checkpoints = nullptr;            // none: nothing is saved
  std::optional<std::int64_t> steps = {};         // none: as many as planned
  std::optional<std::int64_t> interrupt_at = {};  // as a signal in this step would
  std::optional<std::int64_t> eval_batches = {};  // none: the whole validation set
  // Set if recorded steps are replayed: gives the recorded time of each step, which replaces the clock. Only
  // a signal ends a replay early: hooks cannot, because the original run did make these steps.
  std::function<double(std::int64_t step)> recorded_time = {};
  ReplayEnd replay_end = {};
};

struct TrainingEnd {
  Outcome outcome = Outcome::finished;  // failed: the weights have diverged
  std::string reason = {};              // why a hook stopped the run, or what went wrong
  int signal = 0;                       // the signal that interrupted it, on any rank
};

// The training loop: from the current progress of the run to its end, or until a hook or a signal stops it.
TrainingEnd train(Run& run, Journal& journal, const LoopControl& control);

}  // namespace runner
