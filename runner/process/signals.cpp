#include "runner/process/signals.hpp"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>

namespace runner {

namespace {

std::atomic<int> received_signal = 0;
std::atomic<bool> checkpoint_requested = false;
static_assert(decltype(received_signal)::is_always_lock_free);  // a handler may set it

// The handler only records the signal: it may interrupt anything, and writing a message may block.
//
// A closing session may send SIGHUP several times, and SIGTERM after it: only a second SIGINT or SIGTERM ends
// the process immediately.
extern "C" void on_stop_signal(int signal) {
  const bool asked_before = received_signal != 0 && received_signal != SIGHUP;
  if (asked_before && signal != SIGHUP) _exit(128 + signal);
  if (asked_before || received_signal == signal) return;
  received_signal = signal;
}

extern "C" void on_checkpoint_signal(int) { checkpoint_requested = true; }

// Prints nothing if stderr is not ready: the end of the run waits for this thread, and neither a full pipe
// nor a terminal stopped with Ctrl-S may hold it up.
void announce_stop(const std::stop_token& ended) {
  // The handler cannot wake a thread, so the thread looks.
  constexpr auto soon = std::chrono::milliseconds(50);
  std::mutex mutex;
  std::condition_variable_any end;
  std::unique_lock lock(mutex);
  while (received_signal == 0 && !ended.stop_requested())
    end.wait_for(lock, ended, soon, [] { return received_signal != 0; });
  if (received_signal == 0) return;  // the run has ended without one
  const std::string_view notice = received_signal == SIGINT
                                      ? "\nstopping after this step; press Ctrl-C again to stop immediately\n"
                                      : "\nstopping after this step\n";
  pollfd terminal{STDERR_FILENO, POLLOUT, 0};
  if (poll(&terminal, 1, 0) != 1 || (terminal.revents & POLLOUT) == 0) return;
  // Nothing can be done about a closed terminal here.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, notice.data(), notice.size());
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

StopNotice::StopNotice() : thread_(&announce_stop) {}

void keep_checkpoint_requests() {
  struct sigaction action{};
  action.sa_handler = &on_checkpoint_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

bool take_checkpoint_request() { return checkpoint_requested.exchange(false); }

}  // namespace runner
