#pragma once

#include <torch/types.h>

#include <vector>

namespace runner {

// Concatenates tensors of one number format, to send them at once: the elements of each in the order of their
// indices, whatever the layout in memory.
inline torch::Tensor flattened(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> pieces;
  for (const torch::Tensor& tensor : tensors) pieces.push_back(tensor.detach().reshape(-1));
  return torch::cat(pieces);
}

// Copies the elements back.
inline void copy_from_flat(const torch::Tensor& flat, const std::vector<torch::Tensor>& tensors) {
  std::int64_t offset = 0;
  for (const torch::Tensor& tensor : tensors) {
    tensor.detach().copy_(flat.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
    offset += tensor.numel();
  }
}

}  // namespace runner
