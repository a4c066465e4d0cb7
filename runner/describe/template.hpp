#pragma once

#include <string>

#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// A recipe to start from: every key of the parts it names, with its documentation as a comment. What is not
// set stands there as a comment as well. `resolved` has passed the checks, and so does what comes back.
std::string commented_recipe(const Value& resolved, const Schema& recipe, const Registry& registry);

}  // namespace runner
