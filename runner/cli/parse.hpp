#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runner/cli/command.hpp"

namespace runner::cli {

// What is wrong with a command line, in words for the person who typed it.
struct UsageError {
  std::string message;
  std::string hint = {};
};

struct HelpWanted {};

std::variant<Arguments, HelpWanted, UsageError> parse(const Command& command, std::vector<std::string> words);

}  // namespace runner::cli
