#pragma once

#include <torch/types.h>

namespace runner {

// What autocast makes of a parameter, or of a view of it, if all parameters are there in a narrower type
// already and lie in the same order: a tensor in that storage, with a gradient that leads to `uncast`.
torch::Tensor as_cast_of(const torch::Tensor& uncast, const c10::Storage& cast, torch::ScalarType type);

}  // namespace runner
