#pragma once

#include <functional>
#include <string>

#include "runner/train/journal.hpp"
#include "runner/train/run.hpp"

namespace runner {

class Checkpointer;

// How the loop is controlled from outside.
struct LoopControl {
  std::function<int()> signal;                  // that asks the run to stop; 0: none. Called after every step
  std::filesystem::path folder;                 // of the run
  std::function<bool()> checkpoint_asked = {};  // since this was last called
  Checkpointer* checkpoints = nullptr;          // none: nothing is saved
  std::optional<std::int64_t> steps = {};       // none: as many as planned
  std::optional<std::int64_t> eval_batches = {};  // none: the whole evaluation set
  // Steps of a run are repeated: the time at which it made each of them replaces the clock, and only a signal
  // ends it early, because the run has made these steps, whatever hooks ask for now.
  std::function<double(std::int64_t step)> recorded_time = {};
};

struct TrainingEnd {
  enum Why { finished, stopped, interrupted, diverged };

  Why why = finished;
  std::string reason = {};  // of a hook that stopped it, or what went wrong
  int signal = 0;           // that interrupted it, on any rank
};

// The training loop: from the current progress of the run to its end, or until a hook or a signal stops it.
TrainingEnd train(Run& run, Journal& journal, const LoopControl& control);

}  // namespace runner
