#pragma once

#include <csignal>
#include <utility>
#include <vector>

namespace runner {

// Turns the first SIGINT, SIGTERM or SIGHUP (the terminal is gone) into a request that the loop sees after
// its step; a second SIGINT or SIGTERM ends the process at once. Signals that were ignored when the program
// started, as nohup does with SIGHUP, stay ignored. Only one object at a time: signal handlers are global.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  int received() const;  // the signal's number; 0: none

 private:
  std::vector<std::pair<int, struct sigaction>> former_;
};

// Turns SIGUSR1 into a request for a checkpoint that the loop sees after its step. Only one object at a time.
class CheckpointSignal {
 public:
  CheckpointSignal();
  ~CheckpointSignal();
  CheckpointSignal(const CheckpointSignal&) = delete;
  CheckpointSignal& operator=(const CheckpointSignal&) = delete;

  bool take() const;  // whether one came since this was last asked
};

}  // namespace runner
