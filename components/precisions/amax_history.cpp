#include "components/precisions/amax_history.hpp"

#include <cmath>
#include <stdexcept>

namespace runner {

namespace {

double largest(torch::Dtype type) { return type == torch::kFloat8_e5m2 ? 57344.0 : 448.0; }

}  // namespace

AmaxHistory::AmaxHistory(std::int64_t length, double margin, const torch::Device& device)
    : headroom_(std::exp2(margin)),
      magnitudes_(torch::zeros({length}, torch::TensorOptions().dtype(torch::kFloat32).device(device))) {}

ScaledTensor AmaxHistory::quantize(const torch::Tensor& tensor, torch::Dtype type, bool remember) {
  const double top = largest(type);
  const torch::Tensor amax = tensor.abs().amax().to(torch::kFloat32);
  const torch::Tensor known = magnitudes_.amax();
  const torch::Tensor finite = amax.isfinite();
  // In the first step there is no history yet; a tensor of zeros may have any scale.
  const torch::Tensor expected =
      torch::where(known > 0, known, torch::where(finite, amax, 1.0F)).clamp_min(1e-12);
  const torch::Tensor scale = top / headroom_ / expected;
  const torch::Tensor values = (tensor.to(torch::kFloat32) * scale).clamp(-top, top).to(type);
  if (remember) {
    magnitudes_.select(0, next_).copy_(torch::where(finite, amax, known));
    next_ = (next_ + 1) % magnitudes_.size(0);
  }
  return {values, torch::where(finite, scale.reciprocal(), amax)};
}

void AmaxHistory::set_next(std::int64_t next) {
  if (next < 0 || next >= magnitudes_.size(0))
    throw std::runtime_error("an amax history has no entry " + std::to_string(next));
  next_ = next;
}

}  // namespace runner
