#pragma once

#include <filesystem>
#include <string>

#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// A recipe to start from: every key of its components, documented by a comment; keys that are not set are
// comments, too. `resolved` has passed the checks, and the result passes them once its blanks are filled in.
// Paths inside `folder`, where the recipe will be, are written relative to it.
std::string commented_recipe(const Value& resolved, const Schema& recipe, const Registry& registry,
                             const std::filesystem::path& folder);

}  // namespace runner
