// What the system says about this machine, its terminals and its processes.
#pragma once

#include <cstdint>
#include <string>

namespace runner {

// The name of this machine; empty if it has none.
std::string host_name();

// The processor cores that this process may run on: fewer than the machine has if it is bound to some.
std::int64_t usable_cores();

// In columns; 80 if the terminal does not tell.
int terminal_width(int descriptor);

// The value of an environment variable; empty if it is not set.
std::string environment_variable(const char* name);

// The environment variable in which `runner launch` tells its ranks, which it may restart, when it started
// itself: as process_start() does.
inline constexpr auto launcher_start_variable = "RUNNER_LAUNCHER_START";

// When a process started, in clock ticks since the machine booted: together with its id, this identifies the
// process. `process` is an id or "self". Empty: there is no such process, or the system does not say.
std::string process_start(const std::string& process);

// Whether a signal (SIGSTOP) has stopped the process; one that a debugger holds may take as long as it likes.
bool is_stopped(const std::string& process);

}  // namespace runner
