#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>

#include "components/optimizers/fused_optimizer.hpp"

namespace runner {
namespace {

struct Adadelta {
  double lr = 1.0;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0.0;
};

constexpr auto describe(std::type_identity<Adadelta>) {
  return fields(field("lr", &Adadelta::lr, "Peak learning rate, before the schedule.", above(0)),
                field("rho", &Adadelta::rho,
                      "Decay of the running means of squared gradients and squared updates.", within(0, 1)),
                field("eps", &Adadelta::eps,
                      "Added to both mean squares; it also sets the size of the first updates.", at_least(0)),
                field("weight_decay", &Adadelta::weight_decay,
                      "Weight decay, added to the gradient (L2 penalty).", at_least(0)));
}

// Zeiler 2012.  update = g sqrt(mean of updates² + eps) / sqrt(mean of g² + eps),  weight -= lr update
class AdadeltaOptimizer final : public FusedOptimizer {
 public:
  AdadeltaOptimizer(const Adadelta& settings, const OptimizerInputs& inputs)
      : FusedOptimizer(inputs.groups, {"square_avg", "acc_delta"}, settings.lr, settings.weight_decay),
        settings_(settings) {}

 private:
  void update(const Lists& lists, double lr, double weight_decay) override {
    const auto gradients = decayed_gradients(lists, weight_decay);
    follow(lists.slots[0], gradients);
    const auto divisors = root(lists.slots[0]);
    const auto updates = root(lists.slots[1]);
    at::_foreach_div_(updates, divisors);
    at::_foreach_mul_(updates, gradients);
    follow(lists.slots[1], updates);
    at::_foreach_add_(lists.parameters, updates, -lr);
  }

  void follow(at::TensorList mean_squares, at::TensorList numbers) const {
    at::_foreach_mul_(mean_squares, settings_.rho);
    at::_foreach_addcmul_(mean_squares, numbers, numbers, 1 - settings_.rho);
  }

  std::vector<torch::Tensor> root(at::TensorList mean_squares) const {
    auto roots = at::_foreach_add(mean_squares, settings_.eps);
    at::_foreach_sqrt_(roots);
    return roots;
  }

  Adadelta settings_;
};

OptimizerFacts facts(const Adadelta&) { return {UpdatesBy::element}; }

std::unique_ptr<Optimizer> build(const Adadelta& settings, const OptimizerInputs& inputs) {
  return std::make_unique<AdadeltaOptimizer>(settings, inputs);
}

const Registration<OptimizerKind> registration{
    "adadelta", "Adadelta: scales each step by the ratio of recent updates to recent gradients.", &build};

}  // namespace
}  // namespace runner
