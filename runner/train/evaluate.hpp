#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/train/run.hpp"

namespace runner {

struct Evaluation {
  Measurements measurements;                                // "eval/accuracy" ..
  std::vector<std::pair<std::string, std::string>> texts;  // what is not a number, by tag
};

// The evaluation set, measured whole and exactly, or its first batches where that is asked for.
Evaluation evaluate(Run& run, std::optional<std::int64_t> most_batches = {});

}  // namespace runner
