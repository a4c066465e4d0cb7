#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <vector>

#include "components/contract/weights.hpp"

namespace runner {

// Divides parameters that are sharded across ranks into units, which are gathered together. A module whose
// parameters have at most `bytes` bytes stays together, larger modules are taken apart, and neighbours that
// fit are joined. All parameters of a unit have the same number format and device; a unit is larger than
// `bytes` only if it is a single parameter.
std::vector<std::vector<NamedTensor>> cut_into_units(const torch::nn::Module& model, std::uint64_t bytes);

// Puts parameters that layers multiply with first in each unit: those in single precision with two or more
// dimensions, except the tables of embeddings. Returns their number in each unit. Autocast casts these, as
// far as can be known without running the model.
std::vector<std::size_t> put_multiplied_first(std::vector<std::vector<NamedTensor>>& units,
                                              const torch::nn::Module& model);

}  // namespace runner
