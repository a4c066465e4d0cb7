#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace runner {

// What a run recorded. A skipped update advances the epoch, but not the step.
struct RecordedSteps {
  std::map<double, std::map<std::string, nlohmann::json>> values;  // by epoch: what a replay must repeat
  std::map<std::int64_t, double> epochs;                           // of the first record of each step
  std::map<std::int64_t, double> times;                            // since the start of the run, in seconds
};

// The records in metrics.jsonl after an epoch, up to and including a step.
RecordedSteps recorded_steps(const std::filesystem::path& run_folder, double after, std::int64_t until);

struct RecordComparison {
  std::size_t compared = 0;      // epochs with records of both
  std::string first_difference;  // "train/loss at step 7: recorded 0.25, recomputed 0.5"; empty: none
};

// Compares what both recorded: an attempt with another train.log_every may have recorded more. If only one of
// them skipped an update, both reach the same epoch with different steps, or the same step at different
// epochs.
RecordComparison compare_records(const RecordedSteps& recorded, const RecordedSteps& replayed);

}  // namespace runner
