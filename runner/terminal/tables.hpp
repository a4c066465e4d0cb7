#pragma once

#include <string>

#include "runner/terminal/console.hpp"
#include "runner/terminal/format.hpp"

namespace runner {

// At the start: what is about to run, one aligned row for each fact.
std::string summary_table(const RunSummary& run, const Look& look);

// At the end: the loss curve, the best result, the files, and all warnings again.
std::string closing_table(const ClosingSummary& run, const Look& look);

}  // namespace runner
