#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "registry/origin.hpp"
#include "runner/plugins/trusted_places.hpp"

namespace runner {

// Every plugin on the path: its files, and the *.so files in its folders.
std::vector<std::filesystem::path> plugins_on_path(const std::vector<std::filesystem::path>& path);

// Finds "libmy_model.so" or "my_model", relative to the recipe file that names it or on the plugin path. A
// plugin named in a recipe must be in a trusted place, and one in the recipe's own folder must be trusted
// itself; one that the user types may be anywhere.
// Throws PluginError.
std::filesystem::path find_plugin(const std::string& name, const Origin& written,
                                  const TrustedPlaces& trusted);

}  // namespace runner
