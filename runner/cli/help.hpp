#pragma once

#include <string>

#include "runner/cli/command.hpp"

namespace runner::cli {

std::string help(const Style& style);                          // of the program
std::string help(const Command& command, const Style& style);  // of one command
std::string usage(const Command& command);   // "runner check [options] RECIPE.. [OVERRIDE..]"
std::string spelling(const Option& option);  // "-o, --output FILE"
std::vector<std::pair<std::string, std::string>> override_forms();  // each with what it does

}  // namespace runner::cli
