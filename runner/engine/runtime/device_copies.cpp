#include "runner/engine/runtime/device_copies.hpp"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/utils.h>

#include "runner/engine/runtime/batch_part.hpp"
#include "runner/engine/runtime/device.hpp"

namespace runner {

namespace {

std::optional<c10::Stream> own_stream(const torch::Device& device) {
  if (device.is_cpu()) return {};
  try {
    return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
  } catch (const c10::Error&) {  // no such thing on this type of device
    return {};
  }
}

bool is_page_locked(const Batch& batch) {
  bool all = true;
  map_tensors(batch, [&](const torch::Tensor& tensor) {
    all = all && (!tensor.is_cpu() || tensor.is_pinned());
    return tensor;
  });
  return all;
}

}  // namespace

DeviceCopies::DeviceCopies(const torch::Device& device) : device_(device), stream_(own_stream(device)) {}

Batch DeviceCopies::operator()(const Batch& batch) const {
  const auto copied = [&] {
    return map_tensors(
        batch, [&](const torch::Tensor& tensor) { return tensor.to(device_, /*non_blocking=*/true); });
  };
  if (!stream_ || !is_page_locked(batch)) return copied();
  const c10::Stream computing = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  Batch there;
  {
    const c10::StreamGuard copying(*stream_);
    there = copied();
  }
  c10::Event arrived(device_.type());
  arrived.record(*stream_);
  arrived.block(computing);
  // The memory belongs to the other stream, which must not use it again before this one is done with it.
  map_tensors(there, [&](const torch::Tensor& tensor) {
    tensor.record_stream(computing);
    return tensor;
  });
  return there;
}

torch::Tensor HostCopies::operator()(const torch::Tensor& tensor) {
  const torch::Tensor from = tensor.detach();
  if (!copies_from_pinned(tensor.device()))
    return from.to(torch::kCPU, from.scalar_type(), /*non_blocking=*/false, /*copy=*/true,
                   torch::MemoryFormat::Contiguous);
  const torch::NoGradGuard no_grad;
  const auto options = tensor.options().device(torch::kCPU).pinned_memory(true);
  torch::Tensor copy = torch::empty(tensor.sizes(), options, torch::MemoryFormat::Contiguous);
  // In the layout of the copy: LibTorch would otherwise rearrange it on the host, which waits.
  copy.copy_(from.contiguous(), /*non_blocking=*/true);
  if (!arrived_) arrived_ = std::make_shared<c10::Event>(tensor.device().type());
  arrived_->record(c10::impl::VirtualGuardImpl(tensor.device().type()).getStream(tensor.device()));
  return copy;
}

void HostCopies::wait() const {
  if (arrived_) arrived_->synchronize();
}

}  // namespace runner
