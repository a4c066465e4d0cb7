#pragma once

#include <torch/types.h>

#include <vector>

namespace runner {

// Tensors of one number format as one, to be sent at once: their elements one after the other, in the order
// of their indices.
inline torch::Tensor flattened(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> pieces;
  for (const torch::Tensor& tensor : tensors) pieces.push_back(tensor.detach().reshape(-1));
  return torch::cat(pieces);
}

// And back, whatever layout the tensors have in memory.
inline void copy_from_flat(const torch::Tensor& flat, const std::vector<torch::Tensor>& tensors) {
  std::int64_t offset = 0;
  for (const torch::Tensor& tensor : tensors) {
    tensor.detach().copy_(flat.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
    offset += tensor.numel();
  }
}

}  // namespace runner
