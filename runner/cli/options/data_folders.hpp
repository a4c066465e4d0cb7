#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace runner::cli {

// Where a folder that comes with the program may be: in the installation, or in the source tree if the
// program runs from its build folder.
std::vector<std::filesystem::path> data_folders(std::string_view name);

std::filesystem::path program_folder();  // where the executable is; empty if unknown

}  // namespace runner::cli
