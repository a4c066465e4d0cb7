#include "runner/train/stop_signal.hpp"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace runner {

namespace {

volatile std::sig_atomic_t received_signal = 0;

extern "C" void on_stop_signal(int signal) {
  if (received_signal != 0) _exit(128 + signal);
  received_signal = signal;
  constexpr std::string_view notice = "\nstopping after this step; once more stops at once\n";
  // Nothing can be done about a closed terminal here.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, notice.data(), notice.size());
}

void handle(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  received_signal = 0;
  handle(&on_stop_signal);
}

StopSignal::~StopSignal() { handle(SIG_DFL); }

int StopSignal::received() const { return received_signal; }

}  // namespace runner
