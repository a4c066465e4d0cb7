#pragma once

#include <csignal>
#include <thread>
#include <utility>
#include <vector>

namespace runner {

// Turns the first SIGINT, SIGTERM or SIGHUP (the terminal is gone) into a request that the loop sees after
// the current step; a second SIGINT or SIGTERM ends the process immediately. Signals that were ignored when
// the program started, as nohup does with SIGHUP, stay ignored. Only one object at a time: signal handlers
// are global.
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

// While it exists, a thread tells the user at once that a signal was received: a step may take long.
class StopNotice {
 public:
  StopNotice();

 private:
  std::jthread thread_;
};

// From now on, SIGUSR1 no longer ends the process: it requests a checkpoint. A request is kept until a run
// takes it, so this is called first in the program, long before there is a run.
void keep_checkpoint_requests();
bool take_checkpoint_request();  // whether one came since the last call

}  // namespace runner
