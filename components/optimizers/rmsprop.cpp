#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>

#include "components/optimizers/fused_optimizer.hpp"

namespace runner {
namespace {

struct RmsProp {
  double lr = 0.01;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;
  bool centered = false;
};

constexpr auto describe(std::type_identity<RmsProp>) {
  return fields(
      field("lr", &RmsProp::lr, "Peak learning rate, before the schedule.", above(0)),
      field("alpha", &RmsProp::alpha, "Decay of the running mean of the squared gradient.", within(0, 1)),
      field("eps", &RmsProp::eps, "Added to the denominator, against division by zero.", at_least(0)),
      field("weight_decay", &RmsProp::weight_decay, "Weight decay, added to the gradient (L2 penalty).",
            at_least(0)),
      field("momentum", &RmsProp::momentum, "Momentum; 0: none.", within(0, 1)),
      field("centered", &RmsProp::centered,
            "Divide by the standard deviation of the gradient, not by its root mean square.", fixed()));
}

std::vector<std::string> slots(const RmsProp& settings) {
  std::vector<std::string> names{"square_avg"};
  if (settings.centered) names.push_back("grad_avg");
  if (settings.momentum > 0) names.push_back("momentum_buffer");
  return names;
}

// Tieleman and Hinton 2012; centered: Graves 2013.
//   v = alpha v + (1 - alpha) g²,  weight -= lr g / (sqrt(v) + eps)
class RmsPropOptimizer final : public FusedOptimizer {
 public:
  RmsPropOptimizer(const RmsProp& settings, const OptimizerInputs& inputs)
      : FusedOptimizer(inputs.groups, slots(settings), settings.lr, settings.weight_decay),
        settings_(settings) {}

 private:
  void update(const Lists& lists, double lr, double weight_decay) override {
    const auto gradients = decayed_gradients(lists, weight_decay);
    const at::TensorList squares = lists.slots[0];
    at::_foreach_mul_(squares, settings_.alpha);
    at::_foreach_addcmul_(squares, gradients, gradients, 1 - settings_.alpha);
    std::vector<torch::Tensor> root;
    if (settings_.centered) {
      const at::TensorList means = lists.slots[1];
      at::_foreach_lerp_(means, gradients, 1 - settings_.alpha);
      root = at::_foreach_addcmul(squares, means, means, -1);
      at::_foreach_sqrt_(root);
    } else {
      root = at::_foreach_sqrt(squares);
    }
    at::_foreach_add_(root, settings_.eps);
    if (settings_.momentum > 0) {
      const at::TensorList velocities = lists.slots.back();
      at::_foreach_mul_(velocities, settings_.momentum);
      at::_foreach_addcdiv_(velocities, gradients, root);
      at::_foreach_add_(lists.parameters, velocities, -lr);
    } else {
      at::_foreach_addcdiv_(lists.parameters, gradients, root, -lr);
    }
  }

  RmsProp settings_;
};

OptimizerFacts facts(const RmsProp&) { return {UpdatesBy::element}; }

std::unique_ptr<Optimizer> build(const RmsProp& settings, const OptimizerInputs& inputs) {
  return std::make_unique<RmsPropOptimizer>(settings, inputs);
}

const Registration<OptimizerKind> registration{
    "rmsprop", "Divides each gradient by the root of its mean square.", &build};

}  // namespace
}  // namespace runner
