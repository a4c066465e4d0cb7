#pragma once

#include <optional>
#include <string>

namespace runner {

struct Recipe;

// The metric that decides which moment of a run, and which of several runs, is the best.
struct Objective {
  std::string metric = {};  // "eval/accuracy"
  bool highest = true;
};

// By checkpoint.best, or else by the first metric of the recipe that says which direction is better.
std::optional<Objective> objective_of(const Recipe& recipe);

}  // namespace runner
