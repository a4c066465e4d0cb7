#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace runner::cli {

// The run folders that the words mean: a run folder, the name of a run (its last one), or a folder of runs,
// which stands for all of them where `folders` is set. Throws where a word means none.
std::vector<std::filesystem::path> run_folders(const std::vector<std::string>& words, bool folders = false);

}  // namespace runner::cli
