#include <ATen/ops/l1_loss.h>

#include "components/losses/elementwise.hpp"

namespace runner {
namespace {

struct L1 {
  ComparedWith target = ComparedWith::target;
};

constexpr auto describe(std::type_identity<L1>) {
  return fields(field("target", &L1::target, "What the outputs are compared with."));
}

LossFacts facts(const L1& settings) { return elementwise_facts(settings.target); }

std::unique_ptr<Loss> build(const L1& settings, const LossInputs&) {
  const auto sum = [](const torch::Tensor& output, const torch::Tensor& target) {
    return at::l1_loss(output, target, at::Reduction::Sum);
  };
  return std::make_unique<ElementwiseLoss>("l1", sum, settings.target);
}

const Registration<LossKind> registration{
    "l1", "For regression: the mean absolute difference, less sensitive to outliers than mse.", &build};

}  // namespace
}  // namespace runner
