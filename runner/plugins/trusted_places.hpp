#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "registry/origin.hpp"
#include "runner/plugins/trusted.hpp"

namespace runner {

// Files and folders that the user trusts, separated by colons; --plugin adds to it.
inline constexpr const char* plugin_path_variable = "RUNNER_PLUGIN_PATH";

std::vector<std::filesystem::path> plugin_path(const std::map<std::string, std::string>& environment);

// Where code named by a recipe may be. A recipe may come from anywhere, and the code that it names is run.
struct TrustedPlaces {
  std::filesystem::path recipe_folder;             // of the recipe itself, not of the files that it extends
  std::vector<std::filesystem::path> plugin_path;  // files and folders that the user named
  Trusted list{};                                  // what the user trusts once and for all

  // Symlinks are resolved; both are false for a missing file.
  bool hold(const std::filesystem::path& file) const;
  bool named_by_user(const std::filesystem::path& file) const;  // on the plugin path
};
TrustedPlaces trusted_places(const std::filesystem::path& recipe,
                             const std::map<std::string, std::string>& environment);

// Whether the value comes from a file. Values from the user (override, variable) or a program are trusted.
bool written_by_recipe(const Origin& written);

// Hints for an error about code in an untrusted place: the rule, and what the user can type instead.
std::vector<std::string> trust_hints(const std::string& remedy);

// Symlinks are resolved; false if either is missing. A file lies inside itself.
bool lies_inside(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace runner
