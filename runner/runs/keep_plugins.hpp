#pragma once

#include "registry/registry.hpp"
#include "registry/value.hpp"
#include "runner/runs/run_folder.hpp"

namespace runner {

// Copies the plugins whose components the recipe uses, and files of code that it names, into the run folder,
// so that the run can still be evaluated or resumed after the folder is moved. The log and plugins.json list
// all loaded plugins, including unused ones. Returns the recipe to save in the run folder, which names the
// copies.
Value keep_plugins(Value resolved, const Registry& registry, const RunFolder& folder);

}  // namespace runner
