#pragma once

#include <filesystem>
#include <vector>

namespace runner {

// The folder in a run folder for the trackers of a rank other than 0; those of rank 0 use the run folder.
std::filesystem::path rank_folder(const std::filesystem::path& run, int rank);
// The run folder of a rank folder; any other folder is returned as it is.
std::filesystem::path run_of(const std::filesystem::path& folder);
// The ranks other than 0 whose trackers saved something in the run folder, in order.
std::vector<int> ranks_with_trackers(const std::filesystem::path& run);

}  // namespace runner
