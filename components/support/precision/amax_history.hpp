#pragma once

#include <torch/types.h>

#include <cstdint>

namespace runner {

struct ScaledTensor {
  torch::Tensor values;         // in an 8-bit type
  torch::Tensor inverse_scale;  // one fp32 number: values * inverse_scale is the tensor again
};

// Chooses one tensor's scale from the largest magnitudes of its last uses (delayed scaling), so that the
// scale is known before the tensor is looked at. Nothing here waits for the device.
class AmaxHistory {
 public:
  AmaxHistory(std::int64_t length, double margin, const torch::Device& device);

  // Values beyond what the scale foresaw are held at the type's largest. Where the tensor has infinities or
  // NaN the inverse scale is infinite or NaN too, so that they are not lost.
  ScaledTensor quantize(const torch::Tensor& tensor, torch::Dtype type, bool remember);

  torch::Tensor magnitudes() const { return magnitudes_; }
  std::int64_t next() const { return next_; }
  void set_next(std::int64_t next);

 private:
  double headroom_;           // 2^margin
  torch::Tensor magnitudes_;  // a ring; zero: not used yet
  std::int64_t next_ = 0;     // the one that is overwritten next
};

}  // namespace runner
