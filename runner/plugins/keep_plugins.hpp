#pragma once

#include "registry/registry.hpp"
#include "registry/value.hpp"
#include "runner/run_folder/run_folder.hpp"

namespace runner {

// Copies the plugins whose components the recipe uses into the run's folder, so that the run can be evaluated
// or continued wherever the folder goes, and says in plugins.json and the log what they are. Returns the
// recipe as it is to be kept there: it names the copies.
Value keep_plugins(Value resolved, const Registry& registry, const RunFolder& folder);

}  // namespace runner
