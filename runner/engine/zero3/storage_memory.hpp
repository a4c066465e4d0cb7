#pragma once

#include <torch/types.h>

namespace runner {

// Allocates and frees the memory of a tensor, while the tensor, its views and what autograd saved of it stay.

// For the whole storage, with arbitrary contents.
void allocate_memory(const torch::Tensor& tensor);
// Reading the tensor throws c10::Error with this text until it has memory again. The storage keeps its size,
// because views check that they are within it.
void free_memory(const torch::Tensor& tensor, const char* text);

// Replaces the contents of the tensor object, because modules and TorchScript code refer to its address.
void replace(const torch::Tensor& tensor, const torch::Tensor& other);
// Makes the tensor a dense tensor on the device without memory, in that memory format if it has 4 dimensions.
void place_without_memory(const torch::Tensor& tensor, torch::Device device, torch::MemoryFormat layout,
                          const char* text);

}  // namespace runner
