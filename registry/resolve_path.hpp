#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "registry/origin.hpp"

namespace runner {

// $HOME, or else what the system knows: services and containers often have no HOME. Empty: nothing is known.
std::filesystem::path home_folder();

// Without "." and "..", as far as the text tells, and without the slash that shells put after a folder.
std::filesystem::path normal_path(const std::filesystem::path& path);

// The absolute path for a path in a setting. In a recipe file it is relative to the folder of that file; on
// the command line, in the environment and as a default, to the current folder. "~" is the home folder;
// nothing if it is not known. An empty path stays empty.
std::optional<std::string> resolve_path(const std::string& path, const Origin& origin);

}  // namespace runner
