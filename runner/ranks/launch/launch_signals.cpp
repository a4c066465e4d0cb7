#include "runner/ranks/launch/launch_signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include "runner/process/signals.hpp"

namespace runner {

namespace {

bool is_ignored(int signal) {
  struct sigaction action{};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

LaunchSignals::LaunchSignals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGCHLD, SIGUSR1}) sigaddset(&handled, signal);
  // The descriptor would report an ignored signal too, because blocked signals are queued.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(signal)) sigaddset(&handled, signal);
  // If the parent of this process ignored SIGCHLD, so does this process, and would never learn that a rank
  // has ended.
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &usual, &on_child_before_);
  sigprocmask(SIG_BLOCK, &handled, &before_);
  descriptor_ = FileDescriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  checkpoint_requested_ = take_checkpoint_request();  // one that came before
}

LaunchSignals::~LaunchSignals() {
  sigaction(SIGCHLD, &on_child_before_, nullptr);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
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
