#include <ATen/ops/nll_loss_nd.h>

#include "components/losses/class_targets.hpp"
#include "components/losses/class_weights.hpp"
#include "components/losses/loss.hpp"

namespace runner {
namespace {

struct Nll {
  ClassWeights class_weights;
  std::int64_t ignore_index = -100;
};

constexpr auto describe(std::type_identity<Nll>) {
  return fields(field("class_weights", &Nll::class_weights, class_weights_doc, at_least(0)),
                field("ignore_index", &Nll::ignore_index, "Targets with this label are ignored."));
}

class NllLoss final : public Loss {
 public:
  NllLoss(const Nll& settings, const LossInputs& inputs)
      : targets_({"nll", inputs.data.classes, settings.ignore_index,
                  numbers_of(settings.class_weights, inputs)}) {}

  torch::Tensor sum(const torch::Tensor& output, const Batch& batch) const override {
    targets_.require_fitting(output, batch.target, /*shares_allowed=*/false);
    const torch::Tensor logs = at_least_32_bits(output);
    return at::nll_loss_nd(logs, batch.target.to(torch::kInt64), targets_.weights_like(logs),
                           at::Reduction::Sum, targets_.ignore_index());
  }

  double weight(const Batch& batch) const override { return targets_.weight(batch.target); }

 private:
  ClassTargets targets_;
};

LossFacts facts(const Nll& settings) {
  return {{Targets::class_index}, needs_class_counts(settings.class_weights), settings.ignore_index};
}

std::unique_ptr<Loss> build(const Nll& settings, const LossInputs& inputs) {
  return std::make_unique<NllLoss>(settings, inputs);
}

const Registration<LossKind> registration{
    "nll", "Like cross_entropy, for models that output log-probabilities (log_softmax in the model).",
    &build};

}  // namespace
}  // namespace runner
