#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runner/runs/run_folder.hpp"
#include "runner/runs/run_result.hpp"
#include "runner/runs/tracking/trackers.hpp"
#include "runner/terminal/console.hpp"
#include "runner/train/journal.hpp"
#include "runner/train/train.hpp"
#include "runner/train/training_run.hpp"

namespace runner {

// A run, and where it is reported.
struct ReportedRun {
  Run& run;
  Journal& journal;
  Trackers& trackers;
  Console& console;
  const RunFolder& folder;
};

// Writes model.safetensors and the weights that hooks keep. Returns a label and the path of each file. Every
// rank takes part.
std::vector<std::pair<std::string, std::filesystem::path>> save_all_weights(Run& run,
                                                                            const RunFolder& folder);

// Saves the weights and reports how training ended: result.json, report.html, trackers, closing table.
RunResult finish_run(const ReportedRun& reported, const TrainingEnd& end);

// Logs why the run could not start. If it failed (rather than being refused), result.json says so, and keeps
// the numbers of an earlier attempt. Never throws.
void fail_start(const RunFolder& folder, const std::exception& error, bool refused);

// Reports in the same places as finish_run(), and in the log, that the run failed. Never throws: errors while
// reporting are logged.
void fail_run(const ReportedRun& reported, const std::exception& error);

}  // namespace runner
