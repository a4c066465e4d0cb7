#pragma once

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/value.hpp"
#include "runner/objective.hpp"
#include "runner/runs/run_metrics.hpp"

namespace runner {

struct BestValue {
  std::string metric;
  SeriesValue at;
};

// The contents of a run folder, in any state and from any version of the program: what is missing or broken
// is skipped, never an error.
struct RunRecord {
  std::filesystem::path folder;
  std::string name;
  Value recipe = {};                   // as the run saved it
  nlohmann::ordered_json result = {};  // of result.json; an empty object where the run has none
  std::string
      status;  // "finished", "stopped", "interrupted", "failed"; without a result "running" or "unknown"
  std::string message;      // why it ended so
  std::string stand_in;     // not empty: trained on other data than was asked for, and why
  std::time_t started = 0;  // its first attempt

  // "optimizer.lr" as one line of TOML, without secrets; strings without their quotes.
  std::vector<std::pair<std::string, std::string>> settings() const;
  std::optional<std::string> setting(std::string_view path) const;
  std::optional<Objective> objective() const;
};

RunRecord read_run(const std::filesystem::path& folder);
RunMetrics read_metrics(const std::filesystem::path& run_folder);

// From the result where it is there, else from what was measured. `metrics` is only read where it is needed.
struct RunSummaryLine {
  std::int64_t steps = 0;
  double epochs = 0, seconds = 0;
  std::optional<BestValue> best = {};
  std::vector<std::pair<std::string, double>> last = {};  // of what the evaluation measures
};
RunSummaryLine summarize(const RunRecord& run, const RunMetrics* metrics = nullptr);

bool is_run_folder(const std::filesystem::path& folder);
// All run folders below this folder, sorted by path. Folders inside a run folder are not searched.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& folder);

}  // namespace runner
