#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <vector>

#include "components/contract/weights.hpp"

namespace runner {

// Which parameters are gathered together where each rank keeps a part of them only. A module whose parameters
// are no more than so many bytes stays together, larger ones are taken apart, and neighbours that fit are
// joined. Each unit is of one number format on one device; only a single parameter may be larger than
// `bytes`.
std::vector<std::vector<NamedTensor>> cut_into_units(const torch::nn::Module& model, std::uint64_t bytes);

// Parameters that layers multiply with come first in each unit: those in single precision of two dimensions
// or more, but for the tables of embeddings. Returns how many they are in each. Autocast casts these, as far
// as can be told without running the model.
std::vector<std::size_t> put_multiplied_first(std::vector<std::vector<NamedTensor>>& units,
                                              const torch::nn::Module& model);

}  // namespace runner
