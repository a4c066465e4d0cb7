#pragma once

#include <optional>

#include "components/layers/rotary.hpp"
#include "components/models/weights/pretrained_config.hpp"

namespace runner {

// Compares the rotary positions with config.json: their number, "rope_theta" and "rope_scaling", or both in
// "rope_parameters".
void compare_rope(PretrainedConfig& config, std::int64_t context, double theta,
                  const std::optional<RopeScaling>& scaling);

}  // namespace runner
