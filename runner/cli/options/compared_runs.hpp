#pragma once

#include <string>
#include <vector>

#include "runner/cli/command.hpp"
#include "runner/runs/run_comparison.hpp"

namespace runner::cli {

// Which rows of a comparison are shown.
using Keep = bool (*)(const ComparedSection& section, const ComparedRow& row);

// The runs that the words of a command line name; `folders`: they may name folders of runs, too.
std::vector<RunRecord> read_runs(const std::vector<std::string>& words, bool folders);

// Side by side, or as JSON.
void show_compared(const std::vector<RunRecord>& runs, Keep keep, bool as_json, Session& session);

}  // namespace runner::cli
