#pragma once

#include <signal.h>

#include "runner/distributed/socket.hpp"

namespace runner {

// The signals that a launcher handles, as something to poll. They are blocked for all threads that start
// later. SIGUSR1, a request for a checkpoint, is kept until there is a rank that can take it.
class LaunchSignals {
 public:
  LaunchSignals();
  ~LaunchSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  LaunchSignals(const LaunchSignals&) = delete;
  LaunchSignals& operator=(const LaunchSignals&) = delete;

  int descriptor() const { return descriptor_.number(); }
  int next();  // one that ends the ranks, or SIGCHLD; 0: no more
  bool checkpoint_requested() const { return checkpoint_requested_; }  // as far as next() has read
  void forget_checkpoint_request() { checkpoint_requested_ = false; }

 private:
  sigset_t before_{};
  FileDescriptor descriptor_;
  bool checkpoint_requested_ = false;
};

}  // namespace runner
