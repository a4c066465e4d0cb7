#pragma once

#include "components/models/model.hpp"
#include "runner/inspect/rank_estimate.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// The needs of a rank with strategy = "zero3": lays the parameters out in units as ranks do, and finds the
// moment of an update at which the rank that needs most memory uses most.
RankEstimate estimate_sharded(const Recipe& recipe, Model& model, int ranks);

}  // namespace runner
