#pragma once

#include <string>
#include <string_view>

#include "runner/runs/run_record.hpp"

namespace runner {

// "optimizer.name=sgd", "optimizer.lr<=0.01", "status!=failed", "best>0.9": compares a key of the recipe, or
// name, status, steps, best or duration (in seconds, or "1h"), with a value. Numbers are compared as numbers.
struct Condition {
  std::string key, comparison, value;

  // Throws std::invalid_argument that explains the syntax.
  static Condition parse(std::string_view text);
  bool applies(const RunRecord& run, const RunSummaryLine& line) const;  // the run has this key
  bool holds(const RunRecord& run, const RunSummaryLine& line) const;
};

}  // namespace runner
