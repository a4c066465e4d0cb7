#pragma once

#include <ctime>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/value.hpp"
#include "runner/recipe/objective.hpp"
#include "runner/runs/run_metrics.hpp"

namespace runner {

struct BestValue {
  std::string metric;
  SeriesValue at;
};

// The contents of a run folder in any state, from any version of the program: missing or damaged files are
// skipped, never an error.
struct RunRecord {
  std::filesystem::path folder;
  std::string name;
  Value recipe = {};                   // as the run saved it
  nlohmann::ordered_json result = {};  // result.json; an empty object if there is none
  std::string
      status;  // "finished", "stopped", "interrupted", "failed"; without a result "running" or "unknown"
  std::string message;      // why it stopped or failed
  std::string stand_in;     // why the data is not the data asked for; empty: it is
  std::time_t started = 0;  // when its first attempt started

  // Keys such as "optimizer.lr" with values as one line of TOML; secrets hidden, strings without quotes.
  std::vector<std::pair<std::string, std::string>> settings() const;
  std::optional<std::string> setting(std::string_view path) const;
  std::optional<Objective> objective() const;
  // The best value of each metric of the last evaluation, as far as the run said which direction is better.
  std::map<std::string, SeriesValue> best_values(const RunMetrics& metrics) const;
};

RunRecord read_run(const std::filesystem::path& folder);
RunMetrics read_metrics(const std::filesystem::path& run_folder);

// From the result if there is one, otherwise from the metrics. Without `metrics`, the file is read if needed.
struct RunSummaryLine {
  std::int64_t steps = 0;
  double epochs = 0, seconds = 0;
  std::optional<BestValue> best = {};
  std::vector<std::pair<std::string, double>> last = {};  // last values of evaluation metrics
};
RunSummaryLine summarize(const RunRecord& run, const RunMetrics* metrics = nullptr);

bool is_run_folder(const std::filesystem::path& folder);
// All run folders below this folder, sorted by path. Folders inside a run folder are not searched.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& folder);

}  // namespace runner
