#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runner/distributed/membership.hpp"

namespace runner {

// What one rank is started with.
struct RankStart {
  std::vector<std::string> command;  // the program's path, and its arguments
  Environment environment;           // all of it; where to find the secret is added
  std::string secret = {};           // goes through a pipe: neither arguments nor files show it; empty: none
  bool own_output = true;            // its output comes through a pipe; otherwise it is this process's
};

struct RankProcess {
  pid_t id = -1;
  FileDescriptor output;  // stdout and stderr, where they come through a pipe
};

// Starts a process in a group of its own that ends when this one does, however it ends. No signal is blocked
// there, whatever this process blocks for itself. Throws std::runtime_error.
RankProcess start_rank(const RankStart& start);

// "exit code 1", "signal 9 (Killed)".
std::string describe_wait_status(int status);
// What a shell would say: the exit code, or 128 and the signal.
int exit_code_of(int wait_status);
// Whether the process handles the signal, so that it does not end it.
bool has_handler(pid_t process, int signal);
// Whether somebody has stopped the process (SIGSTOP, or a debugger).
bool is_stopped(pid_t process);

}  // namespace runner
