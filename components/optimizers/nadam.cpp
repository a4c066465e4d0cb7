#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>

#include <cmath>

#include "components/optimizers/adam_optimizer.hpp"

namespace runner {
namespace {

struct Nadam {
  double lr = 0.002;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum_decay = 0.004;
  bool decoupled_weight_decay = false;
};

constexpr auto describe(std::type_identity<Nadam>) {
  return fields(field("lr", &Nadam::lr, "Peak learning rate, before the schedule.", above(0)),
                field("betas", &Nadam::betas, "Decay of the running means of the gradient and of its square.",
                      at_least(0), below(1)),
                field("eps", &Nadam::eps, "Added to the denominator, against division by zero.", at_least(0)),
                field("weight_decay", &Nadam::weight_decay, "Weight decay.", at_least(0)),
                field("momentum_decay", &Nadam::momentum_decay,
                      "How fast the momentum approaches its full size.", at_least(0)),
                field("decoupled_weight_decay", &Nadam::decoupled_weight_decay,
                      "Apply weight decay to the weights, as in adamw, not to the gradient."));
}

void check(const Nadam& settings, Report& report) { check_betas(settings.betas, report); }

// Dozat 2016: Adam with Nesterov momentum.
class NadamOptimizer final : public FusedOptimizer {
 public:
  NadamOptimizer(const Nadam& settings, const OptimizerInputs& inputs)
      : FusedOptimizer(inputs.groups, {"exp_avg", "exp_avg_sq"}, settings.lr, settings.weight_decay),
        settings_(settings) {}

 private:
  void update(const Lists& lists, double lr, double weight_decay) override {
    const auto number = lists.updates + 1;
    const double beta1 = settings_.betas[0], beta2 = settings_.betas[1];
    const double gradient_share = (1 - momentum(number)) / (1 - momentum_product(number));
    const double mean_share = momentum(number + 1) / (1 - momentum_product(number + 1));

    const bool decoupled = settings_.decoupled_weight_decay;
    if (decoupled && weight_decay != 0) at::_foreach_mul_(lists.parameters, 1 - lr * weight_decay);
    const auto gradients = decayed_gradients(lists, decoupled ? 0 : weight_decay);
    const at::TensorList means = lists.slots[0], squares = lists.slots[1];
    at::_foreach_lerp_(means, gradients, 1 - beta1);
    at::_foreach_mul_(squares, beta2);
    at::_foreach_addcmul_(squares, gradients, gradients, 1 - beta2);
    const auto divisors = at::_foreach_div(squares, 1 - std::pow(beta2, static_cast<double>(number)));
    at::_foreach_sqrt_(divisors);
    at::_foreach_add_(divisors, settings_.eps);
    at::_foreach_addcdiv_(lists.parameters, gradients, divisors, -lr * gradient_share);
    at::_foreach_addcdiv_(lists.parameters, means, divisors, -lr * mean_share);
  }

  double momentum(std::int64_t number) const {
    return settings_.betas[0] *
           (1 - 0.5 * std::pow(0.96, static_cast<double>(number) * settings_.momentum_decay));
  }

  // The product over all updates up to this one: a function of their number, so it need not be saved.
  double momentum_product(std::int64_t number) {
    while (static_cast<std::int64_t>(products_.size()) <= number) {
      products_.push_back(products_.back() * momentum(static_cast<std::int64_t>(products_.size())));
    }
    return products_[static_cast<std::size_t>(number)];
  }

  Nadam settings_;
  std::vector<double> products_{1.0};  // by number of updates
};

OptimizerFacts facts(const Nadam&) { return {UpdatesBy::element}; }

std::unique_ptr<Optimizer> build(const Nadam& settings, const OptimizerInputs& inputs) {
  return std::make_unique<NadamOptimizer>(settings, inputs);
}

const Registration<OptimizerKind> registration{"nadam", "Adam with look-ahead momentum.", &build};

}  // namespace
}  // namespace runner
