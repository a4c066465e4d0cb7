#pragma once

#include <optional>
#include <string>

#include "registry/origin.hpp"

namespace runner {

// The absolute path for a path in a setting. In a recipe file it is relative to the folder of that file; on
// the command line, in the environment and as a default, to the current folder. "~" is the home folder;
// nothing if it is not known. An empty path stays empty.
std::optional<std::string> resolve_path(const std::string& path, const Origin& origin);

}  // namespace runner
