#include <ATen/ops/huber_loss.h>

#include "components/losses/elementwise.hpp"

namespace runner {
namespace {

struct Huber {
  double delta = 1.0;
  ComparedWith target = ComparedWith::target;
};

constexpr auto describe(std::type_identity<Huber>) {
  return fields(
      field("delta", &Huber::delta, "Differences up to this count squared, larger ones linearly.", above(0)),
      field("target", &Huber::target, "What the outputs are compared with."));
}

LossFacts facts(const Huber& settings) { return elementwise_facts(settings.target); }

std::unique_ptr<Loss> build(const Huber& settings, const LossInputs&) {
  const auto sum = [delta = settings.delta](const torch::Tensor& output, const torch::Tensor& target) {
    return at::huber_loss(output, target, at::Reduction::Sum, delta);
  };
  return std::make_unique<ElementwiseLoss>("huber", sum, settings.target);
}

const Registration<LossKind> registration{
    "huber", "For regression: squared difference up to delta, absolute difference beyond it.", &build};

}  // namespace
}  // namespace runner
