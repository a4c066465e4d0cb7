#include <ATen/ops/mse_loss.h>

#include "components/losses/elementwise.hpp"

namespace runner {
namespace {

struct Mse {
  ComparedWith target = ComparedWith::target;
};

constexpr auto describe(std::type_identity<Mse>) {
  return fields(field("target", &Mse::target, "What the outputs are compared with."));
}

LossFacts facts(const Mse& settings) { return elementwise_facts(settings.target); }

std::unique_ptr<Loss> build(const Mse& settings, const LossInputs&) {
  const auto sum = [](const torch::Tensor& output, const torch::Tensor& target) {
    return at::mse_loss(output, target, at::Reduction::Sum);
  };
  return std::make_unique<ElementwiseLoss>("mse", sum, settings.target);
}

const Registration<LossKind> registration{
    "mse", "For regression: the mean squared difference over all target values.", &build};

}  // namespace
}  // namespace runner
