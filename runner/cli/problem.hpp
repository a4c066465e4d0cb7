#pragma once

#include <string>
#include <vector>

#include "runner/cli/command.hpp"

namespace runner::cli {

// A mistake on the command line, reported in the same form as a mistake in a recipe.
struct Problem {
  std::string message;
  std::vector<std::string> hints = {};
  std::string see = {};
};

int refuse(const Problem& problem, Session& session);  // prints it; returns Exit::bad_input

Problem unknown_kind(const std::string& wanted, const Registry& registry);

}  // namespace runner::cli
