#pragma once

#include "components/contract/batch.hpp"

namespace runner {

// The same function for every tensor that the batch has.
template <class Change>
Batch map_tensors(const Batch& batch, const Change& change) {
  const auto changed = [&](const torch::Tensor& tensor) {
    return tensor.defined() ? change(tensor) : tensor;
  };
  Batch result{changed(batch.input), changed(batch.target)};
  for (const auto& [name, tensor] : batch.extra) result.extra[name] = changed(tensor);
  return result;
}

// Some consecutive examples of a batch, without a copy.
inline Batch part_of(const Batch& batch, std::int64_t first, std::int64_t examples) {
  if (first == 0 && examples == batch.size()) return batch;
  return map_tensors(batch, [&](const torch::Tensor& tensor) { return tensor.narrow(0, first, examples); });
}

}  // namespace runner
