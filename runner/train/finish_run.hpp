#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runner/console/console.hpp"
#include "runner/run_folder/run_folder.hpp"
#include "runner/run_folder/run_result.hpp"
#include "runner/tracking/trackers.hpp"
#include "runner/train/journal.hpp"
#include "runner/train/run.hpp"
#include "runner/train/train.hpp"

namespace runner {

// A run and everywhere it is reported.
struct ReportedRun {
  Run& run;
  Journal& journal;
  Trackers& trackers;
  Console& console;
  const RunFolder& folder;
};

// Writes model.safetensors and the weights that hooks keep. Returns what each file is, and its path. Every
// rank takes part.
std::vector<std::pair<std::string, std::filesystem::path>> save_all_weights(Run& run,
                                                                            const RunFolder& folder);

// Saves the weights and reports how training ended: result.json, report.html, trackers, closing table.
RunResult finish_run(const ReportedRun& reported, const TrainingEnd& end);

// Logs why the run could not start. If it failed (it was not refused), result.json says so, and still has
// what an earlier attempt reached. Never throws.
void fail_start(const RunFolder& folder, const std::exception& error, bool refused);

// Reports in the same places, and in the log, that the run failed. Never throws: what cannot be written is
// logged.
void fail_run(const ReportedRun& reported, const std::exception& error);

}  // namespace runner
