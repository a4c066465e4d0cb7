#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "components/layers/rotary.hpp"
#include "components/models/weights/pretrained_config.hpp"

namespace runner {

// The rotary positions of a config.json.
struct PretrainedRope {
  double theta = 10000;
  std::optional<RopeScaling> scaling = {};
  double part = 1;               // of each head that is rotated
  std::string unsupported = {};  // what Rotary cannot do; empty: nothing
};

// "rope_parameters", or "rope_scaling" of older files; an object, perhaps empty.
nlohmann::json rope_of(const PretrainedConfig& config);
PretrainedRope read_rope(const PretrainedConfig& config, const nlohmann::json& rope, double usual_theta);

// Compares the rotary positions with config.json: their number, "rope_theta" and "rope_scaling", or both in
// "rope_parameters".
void compare_rope(PretrainedConfig& config, std::int64_t context, double theta,
                  const std::optional<RopeScaling>& scaling);

}  // namespace runner
