#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace runner {

// The kinds that there is an example of: folders with a plugin called my_<kind>.
std::vector<std::string> skeleton_kinds(const std::filesystem::path& examples);

// Why a plugin cannot have this name; empty if it can. It becomes part of C++ names and of file names.
std::string problem_of_plugin_name(const std::string& name);

// Writes the example of a kind into a new folder under the name: source, test, CMakeLists.txt and recipe.
// Throws std::runtime_error where something is there already.
void write_skeleton(const std::filesystem::path& examples, const std::string& kind, const std::string& name,
                    const std::filesystem::path& folder);

}  // namespace runner
