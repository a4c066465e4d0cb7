#pragma once

#include <filesystem>
#include <string>

#include "runner/runs/run_result.hpp"
#include "runner/terminal/console.hpp"
#include "runner/train/journal.hpp"
#include "runner/train/training_run.hpp"

namespace runner {

// What is shown at the beginning of a run. `folder`: empty if nothing is kept.
RunSummary summary_of(const Run& run, const std::string& recipe_file, const std::filesystem::path& folder);

// The result of the run, without its outcome, which the caller sets.
RunResult result_of(const Run& run, const Journal& journal);

// What is shown at the end of a run.
ClosingSummary closing_of(const RunResult& result, const Journal& journal);

}  // namespace runner
