#pragma once

#include <signal.h>

#include "runner/distributed/socket.hpp"

namespace runner {

// The signals that a launcher handles, as something to poll. They are blocked for all threads that start
// later.
class LaunchSignals {
 public:
  LaunchSignals();
  ~LaunchSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  LaunchSignals(const LaunchSignals&) = delete;
  LaunchSignals& operator=(const LaunchSignals&) = delete;

  int descriptor() const { return descriptor_.number(); }
  int next() const;  // 0: no more

 private:
  sigset_t before_{};
  FileDescriptor descriptor_;
};

}  // namespace runner
