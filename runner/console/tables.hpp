#pragma once

#include <string>

#include "runner/console/console.hpp"
#include "runner/terminal/format.hpp"

namespace runner {

// What is about to run, one aligned row for each fact.
std::string summary_table(const RunSummary& run, const Look& look);

// How it ended: the loss curve, the best result, where everything is, the warnings once more.
std::string closing_table(const ClosingSummary& run, const Look& look);

}  // namespace runner
