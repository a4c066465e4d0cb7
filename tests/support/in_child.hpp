#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_all.hpp>

namespace runner::testing {

// Calls the function in a process of its own, because signals and standard error are those of the whole
// process. Returns the status of waitpid(); 0: the function returned true.
template <class Function>
int in_child(Function function) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(function() ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace runner::testing
