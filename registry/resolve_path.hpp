#pragma once

#include <string>

#include "registry/origin.hpp"

namespace runner {

// A path as a setting gives it, made absolute. What stands in a recipe file begins at the folder of that
// file; what was typed on the command line or in the environment, and a default, at the current folder. "~"
// is the home folder. An empty path stays empty.
std::string resolve_path(const std::string& path, const Origin& origin);

}  // namespace runner
