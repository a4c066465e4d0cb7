#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace runner::cli {

// The run folders for these words: a run folder, the name of a run (its latest), or, if `folders` is set, a
// folder of runs, which means all of them. Throws if a word matches no run.
std::vector<std::filesystem::path> run_folders(const std::vector<std::string>& words, bool folders);

}  // namespace runner::cli
