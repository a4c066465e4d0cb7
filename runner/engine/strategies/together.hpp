#pragma once

#include <torch/types.h>

#include <string_view>
#include <vector>

#include "components/contract/state.hpp"
#include "components/contract/weights.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Broadcasts many tensors from rank `from`: those of a number format together, in messages of a bounded size.
void broadcast_together(World& world, const std::vector<torch::Tensor>& tensors, int from,
                        std::string_view what);

// Every rank gets the state that the object has on rank `from`. The states of all ranks have the same names
// and shapes.
void share_state(World& world, Stateful& object, int from, std::string_view what);

// Throws RankError, which names the tensor and the rank, unless the tensors are bit-identical on all ranks.
void require_equal(World& world, const std::vector<NamedTensor>& tensors, std::string_view what);

// Throws RankError unless all ranks have the same value under each name: versions, the recipe, the data. The
// error lists the values that differ, and their ranks.
using Claims = std::vector<std::pair<std::string, std::string>>;
void require_equal(World& world, const Claims& claims);

}  // namespace runner
