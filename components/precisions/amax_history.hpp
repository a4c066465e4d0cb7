#pragma once

#include <torch/types.h>

#include <cstdint>

namespace runner {

struct ScaledTensor {
  torch::Tensor values;         // in an 8-bit type
  torch::Tensor inverse_scale;  // one fp32 number: values * inverse_scale is the tensor again
};

// Chooses the scale of a tensor from its largest magnitudes in the last steps (delayed scaling), so that the
// scale is known before the tensor is. Nothing here waits for the device.
class AmaxHistory {
 public:
  AmaxHistory(std::int64_t length, double margin, const torch::Device& device);

  // Values too large for the scale are clamped to the largest of the type. If the tensor has infinities or
  // NaN, the inverse scale is infinite or NaN, too, so that they are not lost.
  ScaledTensor quantize(const torch::Tensor& tensor, torch::Dtype type, bool remember);

  torch::Tensor magnitudes() const { return magnitudes_; }
  std::int64_t next() const { return next_; }
  void set_next(std::int64_t next);

 private:
  double headroom_;           // 2^margin
  torch::Tensor magnitudes_;  // a ring buffer; zero: not used yet
  std::int64_t next_ = 0;     // the one that is overwritten next
};

}  // namespace runner
