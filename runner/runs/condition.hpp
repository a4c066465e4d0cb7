#pragma once

#include <string>
#include <string_view>

#include "runner/runs/run_record.hpp"

namespace runner {

// "optimizer.name=sgd", "optimizer.lr<=0.01", "status!=failed", "best>0.9": a key of the recipe, or one of
// name, status, steps, best and duration (in seconds), held against a value. Numbers are compared as numbers.
struct Condition {
  std::string key, comparison, value;

  // Throws std::invalid_argument, saying how it is written, where the text is none.
  static Condition parse(std::string_view text);
  bool applies(const RunRecord& run, const RunSummaryLine& line) const;  // the run has such a value
  bool holds(const RunRecord& run, const RunSummaryLine& line) const;
};

}  // namespace runner
