#pragma once

#include <torch/types.h>

namespace runner {

// The memory of a tensor comes and goes; the tensor, its views and whatever autograd has kept of it stay.

// For all of its storage, with arbitrary contents.
void allocate_memory(const torch::Tensor& tensor);
// Reading the tensor throws c10::Error with this text until it has memory again. Its size stays: views check
// that they lie within it.
void free_memory(const torch::Tensor& tensor, const char* text);

// The tensor becomes another one: its module, and TorchScript code, hold it under the same address.
void replace(const torch::Tensor& tensor, const torch::Tensor& other);
// The tensor, wherever it was, is on the device from now on, dense, in that memory format if it has 4
// dimensions, and without memory.
void place_without_memory(const torch::Tensor& tensor, torch::Device device, torch::MemoryFormat layout,
                          const char* text);

}  // namespace runner
