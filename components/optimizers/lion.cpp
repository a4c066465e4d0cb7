#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sign.h>

#include "components/optimizers/adam_optimizer.hpp"

namespace runner {
namespace {

struct Lion {
  double lr = 1e-4;
  std::vector<double> betas = {0.9, 0.99};
  double weight_decay = 0.0;
};

constexpr auto describe(std::type_identity<Lion>) {
  return fields(
      field("lr", &Lion::lr, "Peak learning rate, before the schedule: 3 to 10 times less than adamw's.",
            above(0)),
      field("betas", &Lion::betas, "Weight of the momentum in the update, and decay of the momentum.",
            at_least(0), below(1)),
      field("weight_decay", &Lion::weight_decay, "Decoupled weight decay, as in AdamW.", at_least(0)));
}

void check(const Lion& settings, Report& report) {
  if (settings.betas.size() != 2)
    report.error("betas", "takes two numbers: for the update, and for the momentum");
}

// Chen et al. 2023.
//   weight -= lr (sign(beta1 m + (1 - beta1) g) + decay weight),  m = beta2 m + (1 - beta2) g
class LionOptimizer final : public FusedOptimizer {
 public:
  LionOptimizer(const Lion& settings, const OptimizerInputs& inputs)
      : FusedOptimizer(inputs.groups, {"exp_avg"}, settings.lr, settings.weight_decay), settings_(settings) {}

 private:
  void update(const Lists& lists, double lr, double weight_decay) override {
    if (weight_decay != 0) at::_foreach_mul_(lists.parameters, 1 - lr * weight_decay);
    const auto directions = at::_foreach_lerp(lists.slots[0], lists.gradients, 1 - settings_.betas[0]);
    at::_foreach_sign_(directions);
    at::_foreach_add_(lists.parameters, directions, -lr);
    at::_foreach_lerp_(lists.slots[0], lists.gradients, 1 - settings_.betas[1]);
  }

  Lion settings_;
};

OptimizerFacts facts(const Lion&) { return {UpdatesBy::element}; }

std::unique_ptr<Optimizer> build(const Lion& settings, const OptimizerInputs& inputs) {
  return std::make_unique<LionOptimizer>(settings, inputs);
}

const Registration<OptimizerKind> registration{
    "lion", "Lion: updates by the sign of the momentum; one state tensor per weight.", &build};

}  // namespace
}  // namespace runner
