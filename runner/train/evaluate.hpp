#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/train/training_run.hpp"

namespace runner {

struct Evaluation {
  Measurements measurements;                               // "eval/accuracy" ..
  std::vector<std::pair<std::string, std::string>> texts;  // results that are not numbers, by tag
  bool broken_off = false;                                 // cancelled: there are no measurements
  std::int64_t examples = 0, unreadable = 0;               // evaluated, and skipped: loader.on_error = "skip"
};

// Called before each batch with the fraction of the evaluation that is done. False cancels it on all ranks.
using Evaluating = std::function<bool(double share)>;

// Evaluates the whole validation set exactly, or its first batches. Hooks see only the batches of the trained
// weights, "eval".
Evaluation evaluate(
    Run& run, std::optional<std::int64_t> most_batches = {},
    const Evaluating& evaluating = [](double) { return true; }, const std::string& weights = "eval");

// The same for all weights: the trained ones, and those that hooks keep.
Evaluation evaluate_all(Run& run, std::optional<std::int64_t> most_batches, const Evaluating& evaluating);

}  // namespace runner
