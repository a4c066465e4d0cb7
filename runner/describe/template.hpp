#pragma once

#include <filesystem>
#include <string>

#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// A recipe to start from: every key of the parts it names, with its documentation as a comment. What is not
// set stands there as a comment as well. `resolved` has passed the checks, and so does what comes back, once
// its blanks are filled in. Paths inside `folder`, where the recipe will be, are written from there.
std::string commented_recipe(const Value& resolved, const Schema& recipe, const Registry& registry,
                             const std::filesystem::path& folder);

}  // namespace runner
