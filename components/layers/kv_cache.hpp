#pragma once

#include <torch/types.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace runner {

// What a language model keeps of the tokens it has seen, so that a further token costs the work of one token
// only: a pair of tensors per layer, such as keys and values.
struct KvCache {
  std::int64_t length = 0;  // tokens seen
  std::vector<std::pair<torch::Tensor, torch::Tensor>> layers = {};
};

}  // namespace runner
