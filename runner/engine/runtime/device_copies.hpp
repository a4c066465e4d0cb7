#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <torch/types.h>

#include <memory>
#include <optional>

#include "components/contract/batch.hpp"

namespace runner {

// Copies batches to a device on a stream of their own: from page-locked memory a batch arrives while the
// device still computes the step before.
class DeviceCopies {
 public:
  explicit DeviceCopies(const torch::Device& device);

  // Returns at once; what the current stream computes from now on waits for the copy.
  Batch operator()(const Batch& batch) const;

 private:
  torch::Device device_;
  std::optional<c10::Stream> stream_;  // none: the device has only one
};

// Copies from a device into main memory that the host does not wait for. Later changes of the tensors on the
// device, in the order of the current stream, are not in the copies.
class HostCopies {
 public:
  torch::Tensor operator()(const torch::Tensor& tensor);

  // Waits until everything has arrived; another thread may call it.
  void wait() const;

 private:
  std::shared_ptr<c10::Event> arrived_;  // recorded after the last copy; null: everything is there
};

}  // namespace runner
