#include "runner/train/signals.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>

namespace runner {

namespace {

std::atomic<int> received_signal = 0;
std::atomic<bool> checkpoint_requested = false;
static_assert(decltype(received_signal)::is_always_lock_free);  // a handler may set it
std::atomic<int> stop_event = -1;                               // of the newest StopNotice; -1: none

// Never blocks, and may be called by a signal handler.
void wake(int event) {
  const int former_error = errno;
  [[maybe_unused]] const int woken = eventfd_write(event, 1);
  errno = former_error;
}

// The handler only records the signal: it may interrupt anything, and writing a message may block.
//
// A closing session may send SIGHUP several times, and SIGTERM after it: only a second SIGINT or SIGTERM ends
// the process immediately.
extern "C" void on_stop_signal(int signal) {
  const bool asked_before = received_signal != 0 && received_signal != SIGHUP;
  if (asked_before && signal != SIGHUP) _exit(128 + signal);
  if (asked_before || received_signal == signal) return;
  received_signal = signal;
  wake(stop_event);
}

extern "C" void on_checkpoint_signal(int) { checkpoint_requested = true; }

// Prints nothing if stderr is not ready: the end of the run waits for this thread, and neither a full pipe
// nor a terminal stopped with Ctrl-S may hold it up.
void announce_stop(int event) {
  eventfd_t count = 0;
  while (eventfd_read(event, &count) != 0)
    if (errno != EINTR) return;
  if (received_signal == 0) return;  // the run has ended without one
  constexpr std::string_view notice = "\nstopping after this step; press Ctrl-C again to stop immediately\n";
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

StopNotice::StopNotice() : event_(eventfd(0, EFD_CLOEXEC)), thread_(&announce_stop, event_) {
  stop_event = event_;
}

StopNotice::~StopNotice() {
  int own = event_;
  stop_event.compare_exchange_strong(own, -1);
  wake(event_);
  thread_.join();
  close(event_);
}

void keep_checkpoint_requests() {
  struct sigaction action{};
  action.sa_handler = &on_checkpoint_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

bool take_checkpoint_request() { return checkpoint_requested.exchange(false); }

}  // namespace runner
