#include "runner/process/signals.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_all.hpp>
#include <cerrno>

#include "tests/support/in_child.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

// Makes stderr a pipe that nobody reads and that has no room left.
bool fill_standard_error() {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK) != 0) return false;
  const std::vector<char> block(4096, 'x');
  while (::write(ends[1], block.data(), block.size()) > 0) continue;
  while (::write(ends[1], block.data(), 1) > 0) continue;
  ::fcntl(ends[1], F_SETFL, 0);  // a write blocks from now on
  return ::dup2(ends[1], STDERR_FILENO) == STDERR_FILENO;
}

}  // namespace

TEST_CASE("signals: a stop is noticed although nobody reads its message", "[train]") {
  const int status = in_child([] {
    ::alarm(60);  // ends the process if something blocks
    if (!fill_standard_error()) return false;
    const StopSignal stop;
    const StopNotice notice;
    errno = 0;
    ::raise(SIGTERM);
    return stop.received() == SIGTERM && errno == 0;
  });
  CHECK(status == 0);
}

TEST_CASE("signals: a second SIGTERM ends the process immediately, after SIGHUP only the third does",
          "[train]") {
  const int status = in_child([] {
    const StopSignal stop;
    ::raise(SIGHUP);
    ::raise(SIGHUP);
    ::raise(SIGTERM);
    if (stop.received() != SIGTERM) return false;
    ::raise(SIGINT);
    return true;  // not reached
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 128 + SIGINT);
}

TEST_CASE("signals: a request for a checkpoint is kept until a run takes it", "[train]") {
  const int status = in_child([] {
    keep_checkpoint_requests();
    ::raise(SIGUSR1);
    keep_checkpoint_requests();  // as a run does when it starts
    return take_checkpoint_request() && !take_checkpoint_request();
  });
  CHECK(status == 0);
}
