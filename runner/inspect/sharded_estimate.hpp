#pragma once

#include "components/models/model.hpp"
#include "runner/inspect/rank_estimate.hpp"
#include "runner/recipe.hpp"

namespace runner {

// What a rank takes with strategy = "zero3": lays the parameters out in units as ranks do, and looks for the
// moment of an update in which the rank that needs most has most.
RankEstimate estimate_sharded(const Recipe& recipe, Model& model, int ranks);

}  // namespace runner
