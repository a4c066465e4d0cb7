#include "runner/launch/launch_signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include "runner/train/signals.hpp"

namespace runner {

LaunchSignals::LaunchSignals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&handled, signal);
  sigprocmask(SIG_BLOCK, &handled, &before_);
  descriptor_ = FileDescriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  checkpoint_requested_ = take_checkpoint_request();  // one that came before
}

int LaunchSignals::next() {
  signalfd_siginfo info{};
  while (read(descriptor_.number(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGUSR1) return static_cast<int>(info.ssi_signo);
    checkpoint_requested_ = true;
  }
  return 0;
}

}  // namespace runner
