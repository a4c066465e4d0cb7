#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/train/run.hpp"

namespace runner {

struct Evaluation {
  Measurements measurements;                               // "eval/accuracy" ..
  std::vector<std::pair<std::string, std::string>> texts;  // what is not a number, by tag
  bool broken_off = false;                                 // nothing was measured then
};

// Called before each batch with the share of the evaluation that is done; false breaks it off, on all ranks.
using Evaluating = std::function<bool(double share)>;

// The evaluation set, measured whole and exactly, or its first batches where that is asked for. Hooks see the
// batches of the trained weights, "eval", alone.
Evaluation evaluate(
    Run& run, std::optional<std::int64_t> most_batches = {},
    const Evaluating& evaluating = [](double) { return true; }, const std::string& weights = "eval");

// The same for whatever weights there are: the trained ones, and those that hooks keep beside them.
Evaluation evaluate_all(Run& run, std::optional<std::int64_t> most_batches, const Evaluating& evaluating);

}  // namespace runner
