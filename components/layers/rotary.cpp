#include "components/layers/rotary.hpp"

#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "registry/base/wording.hpp"

namespace runner {

void check(const RopeScaling& scaling, Report& report) {
  if (scaling.type != RopeType::linear && scaling.original_context == 0)
    report.error("original_context", "is needed: the context of the pre-training, in tokens");
  if (scaling.type == RopeType::llama3 && scaling.low_freq_factor >= scaling.high_freq_factor)
    report.error("low_freq_factor", "must be below high_freq_factor");
  if (scaling.type == RopeType::yarn && scaling.beta_slow >= scaling.beta_fast)
    report.error("beta_slow", "must be below beta_fast");
  const RopeScaling unset;
  if (scaling.type == RopeType::linear && scaling.original_context != unset.original_context)
    report.error("original_context", "has no effect if type is \"linear\"");
  const auto only_for = [&](RopeType type, const char* word, const char* name, double RopeScaling::* member) {
    if (scaling.type != type && scaling.*member != unset.*member)
      report.error(name, "has no effect unless type is " + in_quotes(word));
  };
  only_for(RopeType::llama3, "llama3", "low_freq_factor", &RopeScaling::low_freq_factor);
  only_for(RopeType::llama3, "llama3", "high_freq_factor", &RopeScaling::high_freq_factor);
  only_for(RopeType::yarn, "yarn", "beta_fast", &RopeScaling::beta_fast);
  only_for(RopeType::yarn, "yarn", "beta_slow", &RopeScaling::beta_slow);
  only_for(RopeType::yarn, "yarn", "attention_factor", &RopeScaling::attention_factor);
}

Rotary::Rotary(std::int64_t positions, std::int64_t head_size, double theta,
               const std::optional<RopeScaling>& scaling)
    : head_size_(head_size), theta_(theta), scaling_(scaling), all_(angles(positions, frequencies(theta))) {}

torch::Tensor Rotary::frequencies(double theta) const {
  const auto even = torch::arange(0, head_size_, 2, torch::kFloat32) / static_cast<double>(head_size_);
  const auto frequency = 1.0 / torch::pow(theta, even);
  if (!scaling_ || scaling_->type == RopeType::dynamic) return frequency;
  if (scaling_->type == RopeType::linear) return frequency / scaling_->factor;
  if (scaling_->type == RopeType::yarn) return yarn_frequencies(frequency);
  // llama3: short wavelengths are kept, long ones stretched; in between, a linear transition.
  const auto original = static_cast<double>(scaling_->original_context);
  const auto turns = original / (2 * std::numbers::pi / frequency);
  const auto kept =
      ((turns - scaling_->low_freq_factor) / (scaling_->high_freq_factor - scaling_->low_freq_factor))
          .clamp(0, 1);
  return (1 - kept) * frequency / scaling_->factor + kept * frequency;
}

// Peng et al. 2023, https://arxiv.org/abs/2309.00071: the pairs between the two bounds are mixed linearly.
torch::Tensor Rotary::yarn_frequencies(const torch::Tensor& frequency) const {
  const auto bound = [&](double turns) {
    const auto original = static_cast<double>(scaling_->original_context);
    return static_cast<double>(head_size_) * std::log(original / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(theta_));
  };
  const double low = std::max(std::floor(bound(scaling_->beta_fast)), 0.0);
  double high = std::min(std::ceil(bound(scaling_->beta_slow)), static_cast<double>(head_size_ - 1));
  if (low == high) high += 0.001;
  const auto stretched = ((torch::arange(head_size_ / 2, torch::kFloat32) - low) / (high - low)).clamp(0, 1);
  return frequency / scaling_->factor * stretched + frequency * (1 - stretched);
}

double Rotary::attention_factor() const {
  if (!scaling_ || scaling_->type != RopeType::yarn) return 1;
  return scaling_->attention_factor > 0 ? scaling_->attention_factor : 0.1 * std::log(scaling_->factor) + 1;
}

Rotation Rotary::angles(std::int64_t positions, const torch::Tensor& frequency) const {
  const auto angle = torch::outer(torch::arange(positions, torch::kFloat32), frequency);
  const double factor = attention_factor();
  if (factor != 1) return {angle.cos() * factor, angle.sin() * factor};
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
  if (const std::int64_t held = all_.cosine.size(0); first + count > held)
    all_ = angles(std::max(first + count, 2 * held), frequencies(theta_));
  if (all_.cosine.device() != device) all_ = {all_.cosine.to(device), all_.sine.to(device)};
  return {all_.cosine.narrow(0, first, count), all_.sine.narrow(0, first, count)};
}

torch::Tensor rotated(const torch::Tensor& x, const Rotation& rotation) {
  const auto halves = x.chunk(2, -1);
  const auto cosine = rotation.cosine.to(x.scalar_type()), sine = rotation.sine.to(x.scalar_type());
  return torch::cat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine}, -1);
}

}  // namespace runner
