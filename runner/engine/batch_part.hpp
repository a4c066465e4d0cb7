#pragma once

#include "components/contract/batch.hpp"

namespace runner {

// Some consecutive examples of a batch, without a copy.
inline Batch part_of(const Batch& batch, std::int64_t first, std::int64_t examples) {
  if (first == 0 && examples == batch.size()) return batch;
  const auto narrow = [&](const torch::Tensor& tensor) {
    return tensor.defined() ? tensor.narrow(0, first, examples) : tensor;
  };
  Batch part{narrow(batch.input), narrow(batch.target)};
  for (const auto& [name, tensor] : batch.extra) part.extra[name] = narrow(tensor);
  return part;
}

}  // namespace runner
