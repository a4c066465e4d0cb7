#include "runner/train/signals.hpp"

#include <unistd.h>

#include <string_view>

namespace runner {

namespace {

volatile std::sig_atomic_t received_signal = 0;

extern "C" void on_stop_signal(int signal) {
  // A closing session may send SIGHUP several times, and SIGTERM after it: only a person who asks twice means
  // at once.
  const bool asked_before = received_signal != 0 && received_signal != SIGHUP;
  if (asked_before && signal != SIGHUP) _exit(128 + signal);
  if (asked_before || received_signal == signal) return;
  received_signal = signal;
  constexpr std::string_view notice = "\nstopping after this step; press Ctrl-C again to stop immediately\n";
  // Nothing can be done about a closed terminal here.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, notice.data(), notice.size());
}

volatile std::sig_atomic_t checkpoint_asked = 0;

extern "C" void on_checkpoint_signal(int) { checkpoint_asked = 1; }

void handle_checkpoint_signal(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  received_signal = 0;
  struct sigaction action{};
  action.sa_handler = &on_stop_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction former{};
    sigaction(signal, nullptr, &former);
    if (former.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
    former_.emplace_back(signal, former);
  }
}

StopSignal::~StopSignal() {
  for (const auto& [signal, former] : former_) sigaction(signal, &former, nullptr);
}

int StopSignal::received() const { return received_signal; }

CheckpointSignal::CheckpointSignal() {
  checkpoint_asked = 0;
  handle_checkpoint_signal(&on_checkpoint_signal);
}

// A signal that comes after training must not kill the process.
CheckpointSignal::~CheckpointSignal() { handle_checkpoint_signal(SIG_IGN); }

bool CheckpointSignal::take() const {
  if (checkpoint_asked == 0) return false;
  checkpoint_asked = 0;
  return true;
}

}  // namespace runner
