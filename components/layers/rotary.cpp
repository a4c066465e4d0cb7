#include "components/layers/rotary.hpp"

#include <torch/utils.h>

#include <cmath>
#include <numbers>

namespace runner {

void check(const RopeScaling& scaling, Report& report) {
  if (scaling.type != RopeType::linear && scaling.original_context == 0)
    report.error("original_context", "is needed: the context of the pre-training, in tokens");
  if (scaling.type == RopeType::llama3 && scaling.low_freq_factor >= scaling.high_freq_factor)
    report.error("low_freq_factor", "must be below high_freq_factor");
  const RopeScaling unset;
  if (scaling.type == RopeType::linear && scaling.original_context != unset.original_context)
    report.error("original_context", "has no effect if type is \"linear\"");
  if (scaling.type == RopeType::llama3) return;
  if (scaling.low_freq_factor != unset.low_freq_factor)
    report.error("low_freq_factor", "has no effect unless type is \"llama3\"");
  if (scaling.high_freq_factor != unset.high_freq_factor)
    report.error("high_freq_factor", "has no effect unless type is \"llama3\"");
}

Rotary::Rotary(std::int64_t positions, std::int64_t head_size, double theta,
               const std::optional<RopeScaling>& scaling)
    : head_size_(head_size), theta_(theta), scaling_(scaling), all_(angles(positions, frequencies(theta))) {}

torch::Tensor Rotary::frequencies(double theta) const {
  const auto even = torch::arange(0, head_size_, 2, torch::kFloat32) / static_cast<double>(head_size_);
  const auto frequency = 1.0 / torch::pow(theta, even);
  if (!scaling_ || scaling_->type == RopeType::dynamic) return frequency;
  if (scaling_->type == RopeType::linear) return frequency / scaling_->factor;
  // llama3: short wavelengths are kept, long ones stretched; in between, a linear transition.
  const auto original = static_cast<double>(scaling_->original_context);
  const auto turns = original / (2 * std::numbers::pi / frequency);
  const auto kept =
      ((turns - scaling_->low_freq_factor) / (scaling_->high_freq_factor - scaling_->low_freq_factor))
          .clamp(0, 1);
  return (1 - kept) * frequency / scaling_->factor + kept * frequency;
}

Rotation Rotary::angles(std::int64_t positions, const torch::Tensor& frequency) const {
  const auto angle = torch::outer(torch::arange(positions, torch::kFloat32), frequency);
  return {angle.cos(), angle.sin()};
}

Rotation Rotary::at(std::int64_t first, std::int64_t count, torch::Device device) {
  if (scaling_ && scaling_->type == RopeType::dynamic && first + count > scaling_->original_context) {
    const double length =
        static_cast<double>(first + count) / static_cast<double>(scaling_->original_context);
    const auto size = static_cast<double>(head_size_);
    const double theta =
        theta_ * std::pow(scaling_->factor * length - (scaling_->factor - 1), size / (size - 2));
    const Rotation longer = angles(first + count, frequencies(theta));
    return {longer.cosine.narrow(0, first, count).to(device), longer.sine.narrow(0, first, count).to(device)};
  }
  if (all_.cosine.device() != device) all_ = {all_.cosine.to(device), all_.sine.to(device)};
  return {all_.cosine.narrow(0, first, count), all_.sine.narrow(0, first, count)};
}

torch::Tensor rotated(const torch::Tensor& x, const Rotation& rotation) {
  const auto halves = x.chunk(2, -1);
  const auto cosine = rotation.cosine.to(x.scalar_type()), sine = rotation.sine.to(x.scalar_type());
  return torch::cat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine}, -1);
}

}  // namespace runner
