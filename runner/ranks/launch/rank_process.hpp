#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runner/ranks/membership.hpp"

namespace runner {

// What one rank is started with.
struct RankStart {
  std::vector<std::string> command;  // the program's path, and its arguments
  Environment environment;           // complete; only the variable for the secret is added
  std::string secret = {};           // passed through a pipe, so that it is not visible; empty: none
  bool own_output = true;            // its output goes to a pipe; otherwise to that of this process
};

struct RankProcess {
  pid_t id = -1;
  FileDescriptor output;  // stdout and stderr, if they go to a pipe
};

// Starts a process in a process group of its own. It is killed when this process ends in any way. It has no
// blocked signals, even if this process has. Throws std::runtime_error.
RankProcess start_rank(const RankStart& start);

// "exit code 1", "signal 9 (Killed)".
std::string describe_wait_status(int status);
// Whether the process handles the signal, so that the signal does not end it.
bool has_handler(pid_t process, int signal);

}  // namespace runner
