// Operators that are about memory alone: new tensors, views, copies.
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "counts.hpp"
#include "graph.hpp"
#include "memory.hpp"
#include "operators.hpp"
#include "tensors.hpp"

namespace simulated_gpu {

namespace {

using at::Tensor;
using Device = std::optional<c10::Device>;

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 Device device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &device_allocator(),
                                   c10::DispatchKeySet(c10::DispatchKey::CUDA), c10::dtype_or_default(type),
                                   format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef strides,
                         std::optional<at::ScalarType> type, std::optional<at::Layout>, Device device,
                         std::optional<bool>) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(strides),
                                           &device_allocator(), c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                           c10::dtype_or_default(type));
}

// Between the host and a device: asynchronous only if asked for, and if the bytes can be taken as they are
// from, or put into, page-locked memory. Otherwise CUDA makes the host wait.
bool is_asynchronous(const Tensor& to, const Tensor& from, bool non_blocking) {
  const Tensor& host = to.is_cuda() ? from : to;
  const bool plain = to.scalar_type() == from.scalar_type() && to.sizes() == from.sizes() &&
                     ((to.is_contiguous() && from.is_contiguous()) ||
                      (to.strides() == from.strides() && to.is_non_overlapping_and_dense()));
  return non_blocking && plain && is_pinned(host.unsafeGetTensorImpl()->unsafe_storage().data());
}

void copy_values(const Tensor& to, const Tensor& from) {
  const at::AutoDispatchBelowADInplaceOrView below;
  // A kernel writes through the second address of page-locked memory too: the first may be closed.
  const auto open = [](const Tensor& tensor) {
    if (tensor.is_cuda() || !is_pinned(tensor.unsafeGetTensorImpl()->unsafe_storage().data()))
      return host_view(tensor);
    const auto& storage = tensor.unsafeGetTensorImpl()->unsafe_storage();
    c10::Storage memory(c10::Storage::use_byte_size_t(), storage.nbytes(),
                        c10::DataPtr(backing(storage.data()), c10::Device(c10::kCPU)), nullptr, false);
    auto made = at::detail::make_tensor<c10::TensorImpl>(
        std::move(memory), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
    made.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                      tensor.storage_offset());
    return made;
  };
  Tensor target = open(to);
  target.copy_(open(from));
}

at::Tensor& copy(Tensor& to, const Tensor& from, bool non_blocking) {
  if (to.is_same(from) || to.numel() == 0) return to;
  const bool both = to.is_cuda() && from.is_cuda();
  {
    const std::lock_guard lock(state());
    const int stream = current_stream((from.is_cuda() ? from : to).get_device());
    const auto bytes = static_cast<std::int64_t>(from.numel() * from.element_size());
    ++counts().operators;
    if (both && to.get_device() != from.get_device()) {
      counts().between_devices += bytes;
      wait_for(stream, times_of(current_stream(to.get_device())));  // as LibTorch does, before and after
    } else if (!both) {
      (to.is_cuda() ? counts().to_device : counts().to_host) += bytes;
    }
    const Moment now = launch(stream);
    const bool asynchronous = both || is_asynchronous(to, from, non_blocking);
    if (asynchronous || from.is_cuda()) use(from, now, false, "aten::copy_");
    if (asynchronous || to.is_cuda()) use(to, now, true, "aten::copy_");
    if (both && to.get_device() != from.get_device())
      wait_for(current_stream(to.get_device()), times_of(stream));
    if (!asynchronous) host_waits(stream, to.is_cuda() ? "a copy to the device" : "a copy to the host");
  }
  copy_values(to, from);
  if (is_capturing()) add_to_graph([to, from] { copy_values(to, from); });
  return to;
}

at::Tensor copy_from(const Tensor& from, const Tensor& to, bool non_blocking) {
  Tensor target = to;
  return copy(target, from, non_blocking);
}

at::Tensor copy_from_and_resize(const Tensor& from, const Tensor& to) {
  if (to.sizes() != from.sizes()) to.resize_(from.sizes());
  return copy_from(from, to, false);
}

at::Scalar item(const Tensor& tensor) {
  {
    const std::lock_guard lock(state());
    const int stream = current_stream(tensor.get_device());
    use(tensor, launch(stream), false, "aten::item");
    counts().to_host += static_cast<std::int64_t>(tensor.element_size());
    host_waits(stream, "item");
  }
  return host_view(tensor).item();
}

// Tensors alone, no kernel.
at::Tensor as_strided(const Tensor& tensor, c10::SymIntArrayRef size, c10::SymIntArrayRef strides,
                      std::optional<c10::SymInt> offset) {
  return at::native::as_strided_tensorimpl(
      tensor, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(strides),
      offset ? std::optional<std::int64_t>(offset->guard_int(__FILE__, __LINE__)) : std::nullopt);
}
at::Tensor view(const Tensor& tensor, c10::SymIntArrayRef size) {
  return at::native::view(tensor, C10_AS_INTARRAYREF_SLOW(size));
}
at::Tensor reshape_alias(const Tensor& tensor, c10::SymIntArrayRef size, c10::SymIntArrayRef strides) {
  return at::native::_reshape_alias(tensor, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(strides));
}

at::Tensor& set_storage_at(Tensor& tensor, c10::Storage storage, c10::SymInt offset, c10::SymIntArrayRef size,
                           c10::SymIntArrayRef strides) {
  auto* const impl = tensor.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(storage));
  auto as_size = C10_AS_INTARRAYREF_SLOW(size);
  if (strides.empty() && !size.empty()) {
    impl->set_sizes_contiguous(as_size);
    impl->set_storage_offset(offset.guard_int(__FILE__, __LINE__));
  } else {
    impl->set_sizes_and_strides(as_size, C10_AS_INTARRAYREF_SLOW(strides),
                                offset.guard_int(__FILE__, __LINE__));
  }
  return tensor;
}
at::Tensor& set_storage(Tensor& tensor, c10::Storage storage) {
  const c10::SymInt count(static_cast<std::int64_t>(storage.nbytes() / tensor.dtype().itemsize()));
  return set_storage_at(tensor, std::move(storage), 0, c10::SymIntArrayRef(&count, 1), {});
}
at::Tensor& set_tensor(Tensor& tensor, const Tensor& source) {
  return set_storage_at(tensor, source.storage(), source.sym_storage_offset(), source.sym_sizes(),
                        source.sym_strides());
}
at::Tensor& set_empty(Tensor& tensor) {
  const c10::DeviceGuard guard(tensor.device());
  const c10::SymInt none(0);
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, device_allocator().allocate(0),
                       &device_allocator(), true);
  return set_storage_at(tensor, std::move(storage), 0, c10::SymIntArrayRef(&none, 1), {});
}

void record(Tensor& tensor, c10::Stream stream) {
  const std::lock_guard lock(state());
  record_stream(tensor.unsafeGetTensorImpl()->unsafe_storage().data(), number_of(stream));
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("copy_", &copy);
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
  library.impl("_local_scalar_dense", &item);
  library.impl("as_strided", &as_strided);
  library.impl("view", &view);
  library.impl("_reshape_alias", &reshape_alias);
  library.impl("set_.source_Storage", &set_storage);
  library.impl("set_.source_Storage_storage_offset", &set_storage_at);
  library.impl("set_.source_Tensor", &set_tensor);
  library.impl("set_", &set_empty);
  library.impl("record_stream", &record);
}

}  // namespace

}  // namespace simulated_gpu
