#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runner/cli/command.hpp"

namespace runner::cli {

// What is wrong with a command line, in words for the person who typed it.
struct UsageError {
  std::string message = {};
  std::string hint = {};
  std::string unknown_option = {};  // "--lr=0.1", where that is what is wrong
};

struct HelpWanted {};

// Options may stand anywhere; after "--" nothing is one. Everything else passes as it was typed: overrides
// look like anything ("~a", "b+=[1]", "c={}"), which is why no general parser does this.
std::variant<Arguments, HelpWanted, UsageError> parse(const Command& command,
                                                      const std::vector<std::string>& words);

// What every command understands.
const std::vector<Option>& common_options();

// The option that "--name" or "-n" means.
const Option* find_option(const Command& command, std::string_view spelled);

}  // namespace runner::cli
