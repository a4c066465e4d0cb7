#pragma once

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/value.hpp"
#include "runner/plugins/trusted_places.hpp"

namespace runner {

// Loads the plugins listed in the recipe's `plugins` and adds their components to the registry. Errors point
// at the place in the recipe that names the plugin.
void load_recipe_plugins(const Value& tree, const TrustedPlaces& trusted, Registry& registry,
                         Diagnostics& diagnostics);

}  // namespace runner
