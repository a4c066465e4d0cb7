#include "components/optimizers/adam_optimizer.hpp"

namespace runner {
namespace {

struct AdamW {
  double lr = 0.001;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool amsgrad = false;
};

constexpr auto describe(std::type_identity<AdamW>) {
  return fields(
      field("lr", &AdamW::lr, "Peak learning rate, before the schedule.", above(0)),
      field("betas", &AdamW::betas, "Decay of the running means of the gradient and of its square.",
            at_least(0), below(1)),
      field("eps", &AdamW::eps, "Added to the denominator, against division by zero.", at_least(0)),
      field("weight_decay", &AdamW::weight_decay, "Decoupled weight decay, as in AdamW.", at_least(0)),
      field("amsgrad", &AdamW::amsgrad, "Divide by the largest mean square so far, not by the current one.",
            fixed()));
}

void check(const AdamW& settings, Report& report) { check_betas(settings.betas, report); }

OptimizerFacts facts(const AdamW&) { return {UpdatesBy::element}; }

std::unique_ptr<Optimizer> build(const AdamW& settings, const OptimizerInputs& inputs) {
  return std::make_unique<AdamOptimizer>(
      AdamOptimizer::Settings{settings.lr, settings.betas, settings.eps, settings.weight_decay,
                              settings.amsgrad, /*decoupled=*/true},
      inputs);
}

const Registration<OptimizerKind> registration{
    "adamw", "Adam with decoupled weight decay, one fused update per step.", &build};

}  // namespace
}  // namespace runner
