#include "runner/ranks/launch/launch_signals.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_all.hpp>

#include "tests/support/in_child.hpp"

using namespace runner;
using namespace runner::testing;

TEST_CASE("launch signals: one that was ignored before, as by nohup, stays ignored") {
  const int status = in_child([] {
    ::signal(SIGHUP, SIG_IGN);
    LaunchSignals signals;
    ::raise(SIGHUP);
    ::raise(SIGTERM);
    return signals.next() == SIGTERM && signals.next() == 0;
  });
  CHECK(status == 0);
}

TEST_CASE("launch signals: the ends of ranks are noticed although SIGCHLD was ignored before") {
  const int status = in_child([] {
    ::alarm(60);  // ends the process if something blocks
    ::signal(SIGCHLD, SIG_IGN);
    const LaunchSignals signals;
    const pid_t rank = ::fork();
    if (rank == 0) ::_exit(3);
    int ended = 0;
    return ::waitpid(rank, &ended, 0) == rank && WEXITSTATUS(ended) == 3;
  });
  CHECK(status == 0);
}
