#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/nll_loss_nd.h>

#include <limits>

#include "components/losses/binary_targets.hpp"
#include "components/losses/class_targets.hpp"
#include "components/losses/elementwise.hpp"

namespace runner {
namespace {

enum class FocalTargets { classes, binary };
constexpr auto describe(std::type_identity<FocalTargets>) {
  return choices(
      choice("classes", FocalTargets::classes,
             "one of several classes per example, by softmax; targets are labels"),
      choice("binary", FocalTargets::binary, "each output on its own, by sigmoid; targets are 0 or 1"));
}

struct Focal {
  FocalTargets targets = FocalTargets::classes;
  double gamma = 2.0;
  std::vector<double> alpha;
  std::int64_t ignore_index = -100;
};

constexpr auto describe(std::type_identity<Focal>) {
  return fields(field("targets", &Focal::targets, "What the targets are."),
                field("gamma", &Focal::gamma, "Focusing parameter; 0: cross entropy.", at_least(0)),
                field("alpha", &Focal::alpha,
                      "Weight of each class: one number per class; with binary targets that of target 1, and "
                      "target 0 has 1 - alpha. "
                      "Empty: all equal.",
                      within(0, 1)),
                field("ignore_index", &Focal::ignore_index,
                      "Targets with this label are ignored (class targets only)."));
}

void check(const Focal& settings, Report& report) {
  if (settings.targets != FocalTargets::binary) return;
  if (settings.alpha.size() > 1)
    report.error("alpha", "is one number with binary targets: the weight of target 1");
  if (settings.ignore_index != -100) report.error("ignore_index", "has no effect with binary targets");
}

// (1 - p)^gamma from log p, accurate for small 1 - p. Kept above 0, where the gradient may be infinite.
torch::Tensor modulation(const torch::Tensor& log_p, double gamma) {
  return (-log_p.expm1()).clamp_min(std::numeric_limits<float>::min()).pow(gamma);
}

// Lin et al. 2017: the sum of -alpha (1 - p)^gamma log p, with p the probability of the right class; the mean
// is over examples, whatever their alpha.
class FocalLoss final : public Loss {
 public:
  FocalLoss(const Focal& settings, std::int64_t classes)
      : gamma_(settings.gamma),
        targets_({"focal", classes, settings.ignore_index, settings.alpha, "alpha"}) {}

  torch::Tensor sum(const torch::Tensor& output, const Batch& batch) const override {
    targets_.require_fitting(output, batch.target, /*shares_allowed=*/false);
    const torch::Tensor logs = at_least_32_bits(output).log_softmax(1);
    const torch::Tensor labels = batch.target.to(torch::kInt64);
    const auto of_right_class = [&](const torch::Tensor& weights) {  // -log p; 0 for ignored targets
      return at::nll_loss_nd(logs, labels, weights, at::Reduction::None, targets_.ignore_index());
    };
    const torch::Tensor plain = of_right_class({});
    const torch::Tensor balance = targets_.weights_like(logs);
    return (modulation(-plain, gamma_) * (balance.defined() ? of_right_class(balance) : plain)).sum();
  }

  double weight(const Batch& batch) const override { return targets_.counted(batch.target); }

 private:
  double gamma_;
  ClassTargets targets_;
};

torch::Tensor binary_sum(const torch::Tensor& output, const torch::Tensor& target, const Focal& settings) {
  require_binary(target, "focal");
  // Of the right answer, yes or no.
  const torch::Tensor log_p =
      -at::binary_cross_entropy_with_logits(output, target, {}, {}, at::Reduction::None);
  torch::Tensor loss = -modulation(log_p, settings.gamma) * log_p;
  if (!settings.alpha.empty()) {
    const double alpha = settings.alpha.front();
    loss = loss * (alpha * target + (1 - alpha) * (1 - target));
  }
  return loss.sum();
}

LossFacts facts(const Focal& settings) {
  return {.targets = {settings.targets == FocalTargets::binary ? Targets::binary : Targets::class_index},
          .ignore_index = settings.ignore_index};
}

std::unique_ptr<Loss> build(const Focal& settings, const LossInputs& inputs) {
  if (settings.targets == FocalTargets::classes)
    return std::make_unique<FocalLoss>(settings, inputs.data.classes);
  const auto sum = [settings](const torch::Tensor& output, const torch::Tensor& target) {
    return binary_sum(output, target, settings);
  };
  return std::make_unique<ElementwiseLoss>("focal", sum);
}

const Registration<LossKind> registration{
    "focal", "Cross entropy that down-weights examples that are already classified well: for rare classes.",
    &build};

}  // namespace
}  // namespace runner
