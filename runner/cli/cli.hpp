#pragma once

#include <string>
#include <vector>

#include "runner/cli/command.hpp"

namespace runner::cli {

// Does what the words after the program's name say; returns the exit code.
int dispatch(std::vector<std::string> words, Session& session);

}  // namespace runner::cli
