#include <ATen/ops/cross_entropy_loss.h>

#include "components/losses/class_targets.hpp"
#include "components/losses/class_weights.hpp"
#include "components/losses/loss.hpp"

namespace runner {
namespace {

struct CrossEntropy {
  double label_smoothing = 0.0;
  ClassWeights class_weights;
  std::int64_t ignore_index = -100;
};

constexpr auto describe(std::type_identity<CrossEntropy>) {
  return fields(field("label_smoothing", &CrossEntropy::label_smoothing,
                      "Share of the target spread evenly over all classes.", within(0, 1)),
                field("class_weights", &CrossEntropy::class_weights, class_weights_doc, at_least(0)),
                field("ignore_index", &CrossEntropy::ignore_index, "Targets with this label are ignored."));
}

// Targets are labels, or class shares in the shape of the outputs.
class CrossEntropyLoss final : public Loss {
 public:
  CrossEntropyLoss(const CrossEntropy& settings, const LossInputs& inputs)
      : label_smoothing_(settings.label_smoothing),
        targets_({"cross_entropy", inputs.data.classes, settings.ignore_index,
                  numbers_of(settings.class_weights, inputs)}) {}

  torch::Tensor sum(const torch::Tensor& output, const Batch& batch) const override {
    targets_.require_fitting(output, batch.target, /*shares_allowed=*/true);
    const torch::Tensor scores = at_least_32_bits(output);
    const auto type = are_labels(batch.target) ? torch::kInt64 : scores.scalar_type();
    const torch::Tensor target = batch.target.scalar_type() == type ? batch.target : batch.target.to(type);
    return at::cross_entropy_loss(scores, target, targets_.weights_like(scores), at::Reduction::Sum,
                                  targets_.ignore_index(), label_smoothing_);
  }

  double weight(const Batch& batch) const override { return targets_.weight(batch.target); }

 private:
  double label_smoothing_;
  ClassTargets targets_;
};

LossFacts facts(const CrossEntropy& settings) {
  return {{Targets::class_index, Targets::class_shares},
          needs_class_counts(settings.class_weights),
          settings.ignore_index};
}

std::unique_ptr<Loss> build(const CrossEntropy& settings, const LossInputs& inputs) {
  return std::make_unique<CrossEntropyLoss>(settings, inputs);
}

const Registration<LossKind> registration{
    "cross_entropy",
    "For classification: the negative log of the probability given to the "
    "right class.",
    &build};

}  // namespace
}  // namespace runner
