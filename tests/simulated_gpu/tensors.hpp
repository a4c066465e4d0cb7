#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace simulated_gpu {

// The same values as a tensor of the CPU, for a kernel to use: it shares the memory. Another tensor is
// returned as it is.
at::Tensor host_view(const at::Tensor& tensor);

// A tensor of a device with the shape of this one of the CPU, and with its values if `filled`.
at::Tensor on_device(const at::Tensor& host, int device, bool filled = true);

// A kernel may have given a view another shape, or more memory: the tensor gets them too.
void take_shape(const at::Tensor& tensor, const at::Tensor& view, const void* view_memory_before);

// A part of the memory of `owner` with the shape of this view of the CPU.
at::Tensor part_of(const at::Tensor& owner, const at::Tensor& view);

}  // namespace simulated_gpu
