#pragma once

#include <signal.h>

#include "runner/ranks/socket.hpp"

namespace runner {

// The signals that a launcher handles, through a descriptor to poll. They are blocked for all threads that
// start later. SIGUSR1, a request for a checkpoint, is kept until a rank can take it. Signals that were
// ignored when the program started, as nohup does with SIGHUP, stay ignored.
class LaunchSignals {
 public:
  LaunchSignals();
  ~LaunchSignals();
  LaunchSignals(const LaunchSignals&) = delete;
  LaunchSignals& operator=(const LaunchSignals&) = delete;

  int descriptor() const { return descriptor_.number(); }
  int next();  // a signal that ends the ranks, or SIGCHLD; 0: no more
  bool checkpoint_requested() const { return checkpoint_requested_; }  // as far as next() has read
  void forget_checkpoint_request() { checkpoint_requested_ = false; }

 private:
  sigset_t before_{};
  struct sigaction on_child_before_{};
  FileDescriptor descriptor_;
  bool checkpoint_requested_ = false;
};

}  // namespace runner
