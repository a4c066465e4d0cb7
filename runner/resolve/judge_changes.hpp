#pragma once

#include <vector>

#include "registry/registry.hpp"
#include "registry/value.hpp"
#include "runner/resolve/recipe_changes.hpp"

namespace runner {

// Corrects the effect of changes for which the mark of the key is not enough, because it depends on the
// components of both recipes: the length of the run and the times of evaluations matter only to some, and the
// state of one component may not fit another. Both recipes are conformed; `before` may have blanks.
void judge_by_components(std::vector<RecipeChange>& changes, const Value& before, const Value& now,
                         const Registry& registry);

}  // namespace runner
