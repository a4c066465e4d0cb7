#pragma once

#include <string>

#include "registry/registry.hpp"
#include "registry/schema.hpp"

namespace runner {

// The page of one kind: all its components, with every parameter.
std::string kind_page(const KindInfo& kind, const Schema& recipe, const Registry& registry);

// The page of all sections of a recipe, with links to the pages of the kinds.
std::string recipe_page(const Schema& recipe, const Registry& registry);

}  // namespace runner
