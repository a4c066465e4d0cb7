#pragma once

#include <map>
#include <string>

#include "registry/diagnostics.hpp"
#include "registry/value.hpp"
#include "runner/recipe/load.hpp"

namespace runner {

// RUNNER_OPTIMIZER__LR=0.01 sets optimizer.lr. Only names with a double underscore do;
// warn_of_stray_variables speaks of the others.
void apply_environment(const std::map<std::string, std::string>& environment, int layer, Value& tree,
                       const DefaultOf& default_of, Diagnostics& diagnostics);

}  // namespace runner
