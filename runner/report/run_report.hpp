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

// report.html in the run's own folder; whether it was written. A run is not lost for its report: what goes
// wrong becomes a warning.
bool leave_report(const std::filesystem::path& run);

}  // namespace runner
