#pragma once

#include <string>
#include <vector>

#include "runner/cli/command.hpp"

namespace runner::cli {

// Runs the command line without the program's name; returns the exit code.
int dispatch(std::vector<std::string> words, Session& session);

}  // namespace runner::cli
