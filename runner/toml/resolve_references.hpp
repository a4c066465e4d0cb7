#pragma once

#include <map>
#include <string>

#include "registry/diagnostics.hpp"
#include "registry/value.hpp"
#include "runner/toml/load.hpp"

namespace runner {

// Fills in all references in the tree. If a string consists of one reference, the value keeps its type; in a
// longer string it becomes part of the text. The origin of the result is the place of the reference.
// Adds the variables that were read to `used`.
void resolve_references(Value& tree, const std::map<std::string, std::string>& environment,
                        const DefaultOf& default_of, Diagnostics& diagnostics,
                        std::vector<UsedVariable>* used = nullptr);

}  // namespace runner
