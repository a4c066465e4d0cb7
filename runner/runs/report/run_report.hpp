#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace runner {

// What the page shows of these runs. The curves together have a bounded number of points, however long and
// however many the runs are.
nlohmann::ordered_json report_data(const std::vector<std::filesystem::path>& runs);

// Curves, results, settings and warnings of one or several runs as one page that needs nothing else.
std::string run_report(const std::vector<std::filesystem::path>& runs);

// Writes report.html into the run folder; returns whether it was written. A run does not fail because of its
// report: an error becomes a warning.
bool leave_report(const std::filesystem::path& run);

}  // namespace runner
