#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace runner::cli {

// Where a folder that comes with the program may lie: beside the installed program, and in the source tree
// for one that was just built.
std::vector<std::filesystem::path> data_folders(std::string_view name);

std::filesystem::path program_folder();  // where the executable is; empty where the system does not say

}  // namespace runner::cli
