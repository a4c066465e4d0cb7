#include <ATen/ops/kl_div.h>

#include "components/losses/class_targets.hpp"
#include "components/losses/loss.hpp"
#include "components/losses/same_shape.hpp"

namespace runner {
namespace {

enum class OutputMeaning { logits, log_probabilities };
constexpr auto describe(std::type_identity<OutputMeaning>) {
  return choices(
      choice("logits", OutputMeaning::logits, "unnormalised scores; log_softmax is applied here"),
      choice("log_probabilities", OutputMeaning::log_probabilities, "log_softmax is in the model"));
}

struct KlDiv {
  OutputMeaning outputs = OutputMeaning::logits;
  bool log_target = false;
};

constexpr auto describe(std::type_identity<KlDiv>) {
  return fields(field("outputs", &KlDiv::outputs, "What the model outputs."),
                field("log_target", &KlDiv::log_target, "The targets are logs of probabilities."));
}

class KlDivLoss final : public Loss {
 public:
  explicit KlDivLoss(const KlDiv& settings) : settings_(settings) {}

  torch::Tensor sum(const torch::Tensor& output, const Batch& batch) const override {
    const torch::Tensor values = at_least_32_bits(output);
    const torch::Tensor target = target_like(values, batch.target, "kl_div");
    const torch::Tensor logs = settings_.outputs == OutputMeaning::logits ? values.log_softmax(1) : values;
    return at::kl_div(logs, target, at::Reduction::Sum, settings_.log_target);
  }

  double weight(const Batch& batch) const override {  // the number of distributions
    const auto numbers = static_cast<double>(batch.target.numel());
    return batch.target.dim() > 1 ? numbers / static_cast<double>(batch.target.size(1)) : numbers;
  }

 private:
  KlDiv settings_;
};

LossFacts facts(const KlDiv&) { return {{Targets::class_shares}}; }

std::unique_ptr<Loss> build(const KlDiv& settings, const LossInputs&) {
  return std::make_unique<KlDivLoss>(settings);
}

const Registration<LossKind> registration{
    "kl_div", "Kullback-Leibler divergence of the target distribution from the predicted distribution.",
    &build};

}  // namespace
}  // namespace runner
