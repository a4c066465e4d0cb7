#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>

#include <cmath>

#include "components/optimizers/adam_optimizer.hpp"
#include "components/optimizers/trust_ratio.hpp"

namespace runner {
namespace {

struct Lamb {
  double lr = 0.001;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-6;
  double weight_decay = 0.01;
  bool adapt_biases_and_norms = true;
};

constexpr auto describe(std::type_identity<Lamb>) {
  return fields(
      field("lr", &Lamb::lr, "Peak learning rate, before the schedule.", above(0)),
      field("betas", &Lamb::betas, "Decay of the running means of the gradient and of its square.",
            at_least(0), below(1)),
      field("eps", &Lamb::eps, "Added to the denominator, against division by zero.", at_least(0)),
      field("weight_decay", &Lamb::weight_decay, "Decoupled weight decay, as in AdamW.", at_least(0)),
      field("adapt_biases_and_norms", &Lamb::adapt_biases_and_norms,
            "Scale the updates of parameters of one dimension too."));
}

void check(const Lamb& settings, Report& report) { check_betas(settings.betas, report); }

// You et al. 2020: Adam's update u = m / (sqrt(v) + eps) + decay weight, with bias correction, scaled to the
// norm of the layer's weights.  weight -= lr |weight| / |u| u
class LambOptimizer final : public FusedOptimizer {
 public:
  LambOptimizer(const Lamb& settings, const OptimizerInputs& inputs)
      : FusedOptimizer(inputs.groups, {"exp_avg", "exp_avg_sq"}, settings.lr, settings.weight_decay),
        settings_(settings) {}

 private:
  // A few parameters at a time, because the temporary tensors take twice their memory.
  void update(const Lists& lists, double lr, double weight_decay) override {
    constexpr std::size_t bytes_at_once = 4 << 20;
    for (std::size_t first = 0, end = 0; first < lists.parameters.size(); first = end) {
      std::size_t bytes = 0;
      while (end < lists.parameters.size() && (end == first || bytes < bytes_at_once))
        bytes += lists.parameters[end++].nbytes();
      const auto some = [&](at::TensorList all) { return all.slice(first, end - first); };
      update_some(some(lists.parameters), some(lists.gradients), some(lists.slots[0]), some(lists.slots[1]),
                  static_cast<double>(lists.updates + 1), lr, weight_decay);
    }
  }

  void update_some(at::TensorList parameters, at::TensorList gradients, at::TensorList means,
                   at::TensorList squares, double number, double lr, double weight_decay) const {
    const double beta1 = settings_.betas[0], beta2 = settings_.betas[1];
    at::_foreach_lerp_(means, gradients, 1 - beta1);
    at::_foreach_mul_(squares, beta2);
    at::_foreach_addcmul_(squares, gradients, gradients, 1 - beta2);
    const auto divisors = at::_foreach_div(squares, 1 - std::pow(beta2, number));
    at::_foreach_sqrt_(divisors);
    at::_foreach_add_(divisors, settings_.eps);
    const auto updates = at::_foreach_div(means, divisors);
    at::_foreach_div_(updates, 1 - std::pow(beta1, number));
    if (weight_decay != 0) at::_foreach_add_(updates, parameters, weight_decay);
    at::_foreach_mul_(updates, trust_ratios(parameters, updates, /*damping=*/0, /*coefficient=*/1,
                                            settings_.adapt_biases_and_norms));
    at::_foreach_add_(parameters, updates, -lr);
  }

  Lamb settings_;
};

std::unique_ptr<Optimizer> build(const Lamb& settings, const OptimizerInputs& inputs) {
  return std::make_unique<LambOptimizer>(settings, inputs);
}

const Registration<OptimizerKind> registration{
    "lamb", "AdamW with updates scaled to the norm of each layer's weights: for very large batches.", &build};

}  // namespace
}  // namespace runner
