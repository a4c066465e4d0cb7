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

// Where code that a recipe names may be. A recipe is data, and may come from anywhere; what it names runs.
struct TrustedPlaces {
  std::filesystem::path recipe_folder;             // of the recipe itself, not of files that it extends
  std::vector<std::filesystem::path> plugin_path;  // files and folders that the user named

  bool hold(const std::filesystem::path& file) const;  // symlinks followed; false for a missing file
};
TrustedPlaces trusted_places(const std::filesystem::path& recipe,
                             const std::map<std::string, std::string>& environment);

// Whether a file says so; what the user types (an override, a variable) or a program sets is trusted.
bool written_by_recipe(const Origin& written);

// What an error about code in another place says besides: the rule, and what the user can type.
std::vector<std::string> trust_hints(const std::string& remedy);

// Symlinks followed; false if one of the two is missing. A file lies inside itself.
bool lies_inside(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace runner
