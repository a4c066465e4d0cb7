#include "registry/base/machine.hpp"

#include <catch2/catch_all.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace runner {

TEST_CASE("a process is identified by its start") {
  const std::string own = process_start("self");
  CHECK(!own.empty());
  CHECK(own.find_first_not_of("0123456789") == std::string::npos);
  CHECK(process_start(std::to_string(::getpid())) == own);
  CHECK(process_start("no process").empty());
}

TEST_CASE("a process that a signal has stopped is recognised") {
  CHECK(!is_stopped("self"));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  CHECK(::waitpid(child, &status, WUNTRACED) == child);
  CHECK(is_stopped(std::to_string(child)));
  ::kill(child, SIGKILL);
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(!is_stopped(std::to_string(child)));
}

TEST_CASE("there is a core to compute on") { CHECK(usable_cores() >= 1); }

}  // namespace runner
