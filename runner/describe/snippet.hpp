#pragma once

#include <string>
#include <vector>

#include "registry/component.hpp"
#include "runner/describe/kinds.hpp"

namespace runner {

// Lines to copy into a recipe: the component at its place, its own parameters at their defaults.
std::string component_snippet(const Descriptor& descriptor, const std::vector<PartPlace>& places);

// "key = default" for each key of a schema that has one; keys without a default become comments.
std::string settings_snippet(const Schema& schema);

}  // namespace runner
