#pragma once

namespace runner {

// Turns the first SIGINT or SIGTERM into a wish that the loop sees after its step; a second one ends the
// process at once. One at a time: signal handlers belong to the process.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  int received() const;  // the signal's number; 0: none
};

}  // namespace runner
