#pragma once

#include "components/contract/batch.hpp"

namespace runner {

// Applies a function to every tensor of the batch.
template <class Change>
Batch map_tensors(const Batch& batch, const Change& change) {
  const auto changed = [&](const torch::Tensor& tensor) {
    return tensor.defined() ? change(tensor) : tensor;
  };
  Batch result{changed(batch.input), changed(batch.target)};
  for (const auto& [name, tensor] : batch.extra) result.extra[name] = changed(tensor);
  return result;
}

// Consecutive examples of a batch, as views.
inline Batch part_of(const Batch& batch, std::int64_t first, std::int64_t examples) {
  if (first == 0 && examples == batch.size()) return batch;
  return map_tensors(batch, [&](const torch::Tensor& tensor) { return tensor.narrow(0, first, examples); });
}

}  // namespace runner
