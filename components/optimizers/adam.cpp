#include "components/optimizers/adam_optimizer.hpp"

namespace runner {
namespace {

struct Adam {
  double lr = 0.001;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool amsgrad = false;
};

constexpr auto describe(std::type_identity<Adam>) {
  return fields(field("lr", &Adam::lr, "Peak learning rate, before the schedule.", above(0)),
                field("betas", &Adam::betas, "Decay of the running means of the gradient and of its square.",
                      at_least(0), below(1)),
                field("eps", &Adam::eps, "Added to the denominator, against division by zero.", at_least(0)),
                field("weight_decay", &Adam::weight_decay,
                      "Weight decay, added to the gradient (L2 penalty).", at_least(0)),
                field("amsgrad", &Adam::amsgrad,
                      "Divide by the largest mean square so far, not by the current one.", fixed()));
}

void check(const Adam& settings, Report& report) { check_betas(settings.betas, report); }

OptimizerFacts facts(const Adam&) { return {UpdatesBy::element}; }

std::unique_ptr<Optimizer> build(const Adam& settings, const OptimizerInputs& inputs) {
  return std::make_unique<AdamOptimizer>(
      AdamOptimizer::Settings{settings.lr, settings.betas, settings.eps, settings.weight_decay,
                              settings.amsgrad, /*decoupled=*/false},
      inputs);
}

const Registration<OptimizerKind> registration{"adam", "Adam, one fused update per step.", &build};

}  // namespace
}  // namespace runner
