#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runner/cli/command.hpp"

namespace runner::cli {

// What is wrong with a command line, for the user.
struct UsageError {
  std::string message = {};
  std::string hint = {};
  std::string unknown_option = {};  // "--lr=0.1", if the mistake is an unknown option
};

struct HelpWanted {};

// Options may be anywhere before "--". Everything else is passed on unchanged: overrides may look like
// anything ("~a", "b+=[1]", "c={}"), which is why no general parser is used.
std::variant<Arguments, HelpWanted, UsageError> parse(const Command& command,
                                                      const std::vector<std::string>& words);

// Options that every command takes.
const std::vector<Option>& common_options();

// The option that "--name" or "-n" means.
const Option* find_option(const Command& command, std::string_view spelled);

}  // namespace runner::cli
