#include "runner/train/checkpoint_signal.hpp"

#include <csignal>

namespace runner {

namespace {

volatile std::sig_atomic_t asked = 0;

extern "C" void on_checkpoint_signal(int) { asked = 1; }

void handle(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace

CheckpointSignal::CheckpointSignal() {
  asked = 0;
  handle(&on_checkpoint_signal);
}

// Whoever asks when training is over must not kill the process.
CheckpointSignal::~CheckpointSignal() { handle(SIG_IGN); }

bool CheckpointSignal::take() const {
  if (asked == 0) return false;
  asked = 0;
  return true;
}

}  // namespace runner
