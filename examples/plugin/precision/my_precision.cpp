// A precision of your own: the loss is multiplied before the backward pass and the gradients divided after
// it.
#include "components/precisions/precision.hpp"

namespace {

using namespace runner;

struct MyPrecision {
  double scale = 1024;
};

constexpr auto describe(std::type_identity<MyPrecision>) {
  return fields(field("scale", &MyPrecision::scale, "What the loss is multiplied by.", above(0)));
}

class MyPrecisionScaled final : public Precision {
 public:
  explicit MyPrecisionScaled(const MyPrecision& settings) : settings_(settings) {}

  torch::Tensor scale(const torch::Tensor& gradient) override { return gradient * settings_.scale; }
  bool unscale(const std::vector<torch::Tensor>& gradients) override {
    torch::NoGradGuard no_gradient;
    bool finite = true;
    for (torch::Tensor gradient : gradients) {
      gradient.div_(settings_.scale);
      finite = finite && gradient.isfinite().all().item<bool>();
    }
    return finite;  // false: this update is skipped
  }
  bool skips_updates() const override { return true; }
  std::string summary() const override { return "fp32, loss scale " + std::to_string(settings_.scale); }

 private:
  MyPrecision settings_;
};

std::unique_ptr<Precision> build(const MyPrecision& settings, const PrecisionInputs&) {
  return std::make_unique<MyPrecisionScaled>(settings);
}

const Registration<PrecisionKind> registration{"my_precision", "fp32 with a constant loss scale.", &build};

}  // namespace
