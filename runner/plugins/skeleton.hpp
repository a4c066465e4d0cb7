#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace runner {

// The kinds that have an example: folders with a plugin called my_<kind>.
std::vector<std::string> skeleton_kinds(const std::filesystem::path& examples);

// Why a plugin cannot have this name; empty if it can. It becomes part of C++ names and of file names.
std::string problem_of_plugin_name(const std::string& name);

// Copies the example of a kind into a new folder, renamed to `name`: source, test, CMakeLists.txt and recipe.
// Throws std::runtime_error if the folder exists and is not empty, and PluginError if the example needs the
// name itself: a class Model would hide that of the contract.
void write_skeleton(const std::filesystem::path& examples, const std::string& kind, const std::string& name,
                    const std::filesystem::path& folder);

}  // namespace runner
