#include "components/models/support/rotary.hpp"

#include <torch/utils.h>

namespace runner {

Rotary::Rotary(std::int64_t positions, std::int64_t head_size, double theta) {
  const auto even = torch::arange(0, head_size, 2, torch::kFloat32) / static_cast<double>(head_size);
  const auto frequency = 1.0 / torch::pow(theta, even);
  const auto angle = torch::outer(torch::arange(positions, torch::kFloat32), frequency);
  all_ = {angle.cos(), angle.sin()};
}

Rotation Rotary::at(std::int64_t first, std::int64_t count, torch::Device device) {
  if (all_.cosine.device() != device) all_ = {all_.cosine.to(device), all_.sine.to(device)};
  return {all_.cosine.narrow(0, first, count), all_.sine.narrow(0, first, count)};
}

torch::Tensor rotated(const torch::Tensor& x, const Rotation& rotation) {
  const auto halves = x.chunk(2, -1);
  const auto cosine = rotation.cosine.to(x.scalar_type()), sine = rotation.sine.to(x.scalar_type());
  return torch::cat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine}, -1);
}

}  // namespace runner
