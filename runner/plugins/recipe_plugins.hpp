#pragma once

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/value.hpp"
#include "runner/plugins/trusted_places.hpp"

namespace runner {

// Loads what the recipe's `plugins` names and adds its components to the registry; errors point at the place
// where the plugin is named.
void load_recipe_plugins(const Value& tree, const TrustedPlaces& trusted, Registry& registry,
                         Diagnostics& diagnostics);

}  // namespace runner
