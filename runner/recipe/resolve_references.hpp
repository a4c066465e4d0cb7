#pragma once

#include <map>
#include <string>

#include "registry/diagnostics.hpp"
#include "registry/value.hpp"
#include "runner/recipe/load.hpp"

namespace runner {

// Fills in every reference of the tree. Alone in a string it keeps its type; inside a longer one it becomes
// part of the text. A value that came by reference keeps the place where the reference is written.
void resolve_references(Value& tree, const std::map<std::string, std::string>& environment,
                        const DefaultOf& default_of, Diagnostics& diagnostics);

}  // namespace runner
