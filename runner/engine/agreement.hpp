#pragma once

namespace runner {

// What ranks tell each other once per update. The larger value of each counts, so that all ranks do what any
// of them wants, at the same step.
struct Agreement {
  bool stop = false;        // a hook asks for it
  int signal = 0;           // that asks the process to stop; 0: none came
  bool checkpoint = false;  // one is due, or asked for
  double seconds = 0;       // of the run: one clock decides for all ranks
};

}  // namespace runner
