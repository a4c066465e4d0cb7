#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "registry/origin.hpp"

namespace runner {

// The variable that --plugin adds to: files and folders, separated by colons, that the user trusts.
inline constexpr const char* plugin_path_variable = "RUNNER_PLUGIN_PATH";

std::vector<std::filesystem::path> plugin_path(const std::map<std::string, std::string>& environment);

// Every plugin below the path: its files, and what its folders hold (*.so).
std::vector<std::filesystem::path> plugins_on_path(const std::vector<std::filesystem::path>& path);

// The file that a recipe means by "libmy_model.so" or "my_model". A recipe is data: it can only name what
// lies in its own folder or on the user's plugin path, links followed; what the user types may lie anywhere.
// Throws PluginError.
std::filesystem::path find_plugin(const std::string& name, const Origin& written,
                                  const std::vector<std::filesystem::path>& path);

}  // namespace runner
