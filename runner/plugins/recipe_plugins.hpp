#pragma once

#include <map>
#include <string>

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/value.hpp"

namespace runner {

// Loads what the recipe's `plugins` names and takes it up into the registry; what is wrong is said at the
// place where the plugin is named.
void load_recipe_plugins(const Value& tree, const std::map<std::string, std::string>& environment,
                         Registry& registry, Diagnostics& diagnostics);

}  // namespace runner
