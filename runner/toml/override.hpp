#pragma once

#include <string>

#include "registry/diagnostics.hpp"
#include "registry/value.hpp"
#include "runner/toml/load.hpp"

namespace runner {

// One argument: `key=value` sets, `key+=value` adds to a list, `~key` deletes.
void apply_override(const std::string& argument, int layer, Value& tree, const DefaultOf& default_of,
                    Diagnostics& diagnostics);

}  // namespace runner
