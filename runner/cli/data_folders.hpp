#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace runner::cli {

// Possible places of a folder that comes with the program: beside the installed program, or in the source
// tree of one that was built there.
std::vector<std::filesystem::path> data_folders(std::string_view name);

std::filesystem::path program_folder();  // where the executable is; empty if unknown

}  // namespace runner::cli
