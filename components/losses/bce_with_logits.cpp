#include <ATen/ops/binary_cross_entropy_with_logits.h>

#include "components/losses/binary_targets.hpp"
#include "components/losses/elementwise.hpp"

namespace runner {
namespace {

struct BceWithLogits {
  std::vector<double> pos_weight;
};

constexpr auto describe(std::type_identity<BceWithLogits>) {
  return fields(field("pos_weight", &BceWithLogits::pos_weight,
                      "Weight of positive targets: one number, or one per output; default: 1.", above(0)));
}

LossFacts facts(const BceWithLogits&) { return {{Targets::binary}}; }

std::unique_ptr<Loss> build(const BceWithLogits& settings, const LossInputs&) {
  const auto sum = [weights = settings.pos_weight](const torch::Tensor& output, const torch::Tensor& target) {
    require_binary(target, "bce_with_logits");
    const torch::Tensor pos_weight =
        weights.empty() ? torch::Tensor{} : for_each_output(weights, output, "loss.pos_weight");
    return at::binary_cross_entropy_with_logits(output, target, /*weight=*/{}, pos_weight,
                                                at::Reduction::Sum);
  };
  return std::make_unique<ElementwiseLoss>("bce_with_logits", sum);
}

const Registration<LossKind> registration{
    "bce_with_logits", "Binary cross entropy on logits: one yes-or-no decision per output.", &build};

}  // namespace
}  // namespace runner
