#pragma once

#include <string>
#include <vector>

namespace runner {

// For code that starts processes.

std::string own_program();  // the path of this program; throws if there is no /proc

// What execve and posix_spawn take: a pointer to each text, and a null pointer. Valid as long as the texts.
std::vector<char*> pointers(std::vector<std::string>& texts);

// As in a shell: the exit code, or 128 + the signal. The status is that of waitpid.
int exit_code_of(int wait_status);

}  // namespace runner
