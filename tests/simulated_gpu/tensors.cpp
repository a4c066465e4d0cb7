#include "tensors.hpp"

#include <ATen/EmptyTensor.h>
#include <ATen/core/TensorBase.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>

#include <cstring>

#include "memory.hpp"

namespace simulated_gpu {

namespace {

c10::Device cuda(int device) { return {c10::kCUDA, static_cast<c10::DeviceIndex>(device)}; }

at::Tensor shaped(c10::Storage storage, c10::DispatchKey key, const at::Tensor& as, std::int64_t offset) {
  auto made =
      at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), as.dtype());
  auto* const tensor = made.unsafeGetTensorImpl();
  tensor->set_sizes_and_strides(as.sizes(), as.strides(), offset);
  if (as.unsafeGetTensorImpl()->is_wrapped_number()) tensor->set_wrapped_number(true);
  if (as.is_conj()) made._set_conj(true);
  if (as.is_neg()) made._set_neg(true);
  return made;
}

}  // namespace

at::Tensor host_view(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cuda()) return tensor;
  const auto& storage = tensor.unsafeGetTensorImpl()->unsafe_storage();
  // Resizable, so that a kernel can give a result the shape that it has.
  c10::Storage memory(c10::Storage::use_byte_size_t(), storage.nbytes(),
                      c10::DataPtr(backing(storage.data()), c10::Device(c10::kCPU)), c10::GetCPUAllocator(),
                      true);
  return shaped(std::move(memory), c10::DispatchKey::CPU, tensor, tensor.storage_offset());
}

at::Tensor on_device(const at::Tensor& host, int device, bool filled) {
  const c10::DeviceGuard guard(cuda(device));
  const Span span = span_of(host);
  const auto bytes = static_cast<std::size_t>(span.end - span.begin);
  c10::Storage memory(c10::Storage::use_byte_size_t(), bytes, device_allocator().allocate(bytes),
                      &device_allocator(), true);
  if (filled && bytes > 0) std::memcpy(backing(memory.data()), span.begin, bytes);
  return shaped(std::move(memory), c10::DispatchKey::CUDA, host, 0);
}

void take_shape(const at::Tensor& tensor, const at::Tensor& view, const void* view_memory_before) {
  auto* const impl = tensor.unsafeGetTensorImpl();
  const auto& memory = view.unsafeGetTensorImpl()->unsafe_storage();
  if (memory.data() != view_memory_before) {
    const c10::DeviceGuard guard(tensor.device());
    auto fresh = device_allocator().allocate(memory.nbytes());
    if (memory.nbytes() > 0) std::memcpy(backing(fresh.get()), memory.data(), memory.nbytes());
    impl->unsafe_storage().set_data_ptr_noswap(std::move(fresh));
    impl->unsafe_storage().set_nbytes(memory.nbytes());
  }
  if (tensor.sizes() != view.sizes() || tensor.strides() != view.strides() ||
      tensor.storage_offset() != view.storage_offset())
    impl->set_sizes_and_strides(view.sizes(), view.strides(), view.storage_offset());
}

at::Tensor part_of(const at::Tensor& owner, const at::Tensor& view) {
  const auto& storage = owner.unsafeGetTensorImpl()->unsafe_storage();
  const auto* const begin = static_cast<const char*>(backing(storage.data()));
  const auto* const own = static_cast<const char*>(view.unsafeGetTensorImpl()->unsafe_storage().data());
  const auto moved = (own - begin) / static_cast<std::int64_t>(view.element_size());
  return shaped(storage, c10::DispatchKey::CUDA, view, moved + view.storage_offset());
}

}  // namespace simulated_gpu
