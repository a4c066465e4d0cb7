#pragma once

#include <map>
#include <string>

#include "registry/diagnostics.hpp"
#include "registry/schema_path.hpp"
#include "registry/value.hpp"
#include "runner/toml/load.hpp"

namespace runner {

// RUNNER_OPTIMIZER__LR=0.01 sets optimizer.lr. Only variables with a double underscore set a key.
void apply_environment(const std::map<std::string, std::string>& environment, int layer, Value& tree,
                       const DefaultOf& default_of, Diagnostics& diagnostics);

// Warns of each variable that begins with RUNNER_ and has no effect: RUNNER_FOO, or RUNNER_OPTIMIZER_LR,
// where an underscore is missing.
void warn_of_stray_variables(const std::map<std::string, std::string>& environment, const SchemaPath& schema,
                             const Value& tree, Diagnostics& diagnostics);

}  // namespace runner
