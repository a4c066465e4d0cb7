#pragma once

#include <string>
#include <vector>

#include "runner/runs/run_record.hpp"

namespace runner {

struct ComparedRow {
  std::string key;
  std::vector<std::string> values;  // one for each run; empty: it has none

  bool differs() const;
};

struct ComparedSection {
  std::string title;  // "results", "recipe", "data", "versions"
  std::vector<ComparedRow> rows = {};
};

// Results, settings, data and versions of several runs, side by side.
std::vector<ComparedSection> compare_runs(const std::vector<RunRecord>& runs);

}  // namespace runner
