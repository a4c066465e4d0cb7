#pragma once

#include <torch/types.h>

#include <string_view>
#include <vector>

#include "components/contract/weights.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Many tensors as one message of each number format: all ranks get what `from` has.
void broadcast_together(World& world, const std::vector<torch::Tensor>& tensors, int from,
                        std::string_view what);

// Throws RankError, naming tensor and rank, unless all ranks have the same bits.
void require_equal(World& world, const std::vector<NamedTensor>& tensors, std::string_view what);

// Throws RankError unless all ranks say the same under each name: versions, the recipe, the data. Names which
// differ, and on which ranks.
using Claims = std::vector<std::pair<std::string, std::string>>;
void require_equal(World& world, const Claims& claims);

}  // namespace runner
