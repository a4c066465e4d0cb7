#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>

#include <limits>

#include "components/precisions/autocast.hpp"
#include "components/precisions/precision.hpp"
#include "registry/base/log.hpp"

namespace runner {
namespace {

struct Fp16 {
  double init_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;
};

constexpr auto describe(std::type_identity<Fp16>) {
  return fields(
      field("init_scale", &Fp16::init_scale, "Initial loss scale.", at_least(1e-30)),
      field("growth_factor", &Fp16::growth_factor, "Factor by which the scale grows.", above(1)),
      field("backoff_factor", &Fp16::backoff_factor,
            "Factor by which the scale shrinks after gradients that are not finite.", above(0), below(1)),
      field("growth_interval", &Fp16::growth_interval,
            "Updates with finite gradients in a row before the scale grows.", at_least(1)));
}

// Small gradients underflow in fp16, so the loss is scaled up as far as the gradients stay finite.
class Fp16Precision final : public Precision {
 public:
  Fp16Precision(const Fp16& settings, const torch::Device& device)
      : settings_(settings),
        device_(device),
        scale_(torch::full({1}, settings.init_scale, number())),
        good_updates_(torch::zeros({1}, number().dtype(torch::kInt32))) {}

  std::unique_ptr<Scope> forward() override {
    return std::make_unique<AutocastScope>(device_.type(), torch::kFloat16);
  }

  torch::Tensor scale(const torch::Tensor& gradient) override {
    return gradient * scale_.to(gradient.dtype()).squeeze(0);
  }

  bool unscale(const std::vector<torch::Tensor>& gradients) override {
    const torch::NoGradGuard no_grad;
    torch::Tensor found_inf = torch::zeros({1}, number());
    const torch::Tensor inverse = scale_.to(torch::kFloat64).reciprocal().to(torch::kFloat32);
    for (const auto& same_kind : by_device_and_type(gradients)) {
      torch::Tensor found = found_inf.to(same_kind.front().device());
      at::_amp_foreach_non_finite_check_and_unscale_(same_kind, found, inverse.to(found.device()));
      if (!found.is_same(found_inf)) found_inf += found.to(device_);
    }
    at::_amp_update_scale_(scale_, good_updates_, found_inf, settings_.growth_factor,
                           settings_.backoff_factor, settings_.growth_interval);
    // The inverse of a smaller scale is infinite, and would destroy the next gradients that are finite.
    scale_.clamp_min_(std::numeric_limits<float>::min());
    return found_inf.item<float>() == 0;
  }

  std::vector<std::pair<std::string, double>> report() const override {
    return {{"loss_scale", scale_.item<double>()}};
  }

  std::string summary() const override {
    return log::format("fp16 (autocast; weights and optimizer in fp32; loss scale {}, adjusted as it goes)",
                       scale_.item<double>());
  }

  torch::ScalarType compute_type() const override { return torch::kFloat16; }
  bool skips_updates() const override { return true; }

  State save() const override {
    return {.integers = {{"good_updates", good_updates_.item<std::int64_t>()}},
            .numbers = {{"loss_scale", scale_.item<double>()}}};
  }

  void load(const State& state) override {
    StateReader saved(state);
    scale_.fill_(saved.number("loss_scale"));
    // LibTorch lets the scale grow when the count is equal to the interval, which may be shorter now.
    good_updates_.fill_(
        std::clamp<std::int64_t>(saved.integer("good_updates"), 0, settings_.growth_interval - 1));
    saved.finish();
  }

 private:
  torch::TensorOptions number() const {
    return torch::TensorOptions().dtype(torch::kFloat32).device(device_);
  }

  // The kernel needs tensors of the same device and type.
  static std::vector<std::vector<torch::Tensor>> by_device_and_type(
      const std::vector<torch::Tensor>& gradients) {
    std::vector<std::vector<torch::Tensor>> lists;
    for (const torch::Tensor& gradient : gradients) {
      if (!gradient.defined()) continue;
      const auto list = std::ranges::find_if(lists, [&](const auto& other) {
        return other.front().device() == gradient.device() &&
               other.front().scalar_type() == gradient.scalar_type();
      });
      (list == lists.end() ? lists.emplace_back() : *list).push_back(gradient);
    }
    return lists;
  }

  Fp16 settings_;
  torch::Device device_;
  torch::Tensor scale_;
  torch::Tensor good_updates_;
};

PrecisionFacts facts(const Fp16&) { return {torch::kFloat16}; }

std::unique_ptr<Precision> build(const Fp16& settings, const PrecisionInputs& inputs) {
  return std::make_unique<Fp16Precision>(settings, inputs.device);
}

const Registration<PrecisionKind> registration{"fp16", "float16 autocast with dynamic loss scaling.", &build};

}  // namespace
}  // namespace runner
