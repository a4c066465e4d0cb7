#pragma once

#include "registry/registry.hpp"
#include "registry/value.hpp"
#include "runner/run_folder/run_folder.hpp"

namespace runner {

// Copies the plugins whose components the recipe uses, and files of code that it names, into the run's
// folder, so that the run can be evaluated or continued wherever the folder is moved. The log and
// plugins.json say what was loaded, used or not. Returns the recipe that is to be kept there: it names the
// copies.
Value keep_plugins(Value resolved, const Registry& registry, const RunFolder& folder);

}  // namespace runner
