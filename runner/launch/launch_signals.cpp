#include "runner/launch/launch_signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace runner {

LaunchSignals::LaunchSignals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&handled, signal);
  sigprocmask(SIG_BLOCK, &handled, &before_);
  descriptor_ = FileDescriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
}

int LaunchSignals::next() const {
  signalfd_siginfo info{};
  const bool complete = read(descriptor_.number(), &info, sizeof info) == sizeof info;
  return complete ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace runner
