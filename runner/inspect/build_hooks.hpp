#pragma once

#include <memory>
#include <vector>

#include "components/hooks/hook.hpp"
#include "components/precisions/precision.hpp"
#include "runner/inspect/inspection.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// Builds the hooks of a recipe. The caller gives what it alone knows of their inputs: device, ranks, weights
// and data. The rest follows from the recipe, the precision and the inspection of the model.
std::vector<std::unique_ptr<Hook>> build_hooks(const Recipe& recipe, const Inspection& inspection,
                                               const Precision& precision, HookInputs inputs);

}  // namespace runner
