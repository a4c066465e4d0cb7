#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sub.h>

#include "components/optimizers/fused_optimizer.hpp"
#include "components/optimizers/trust_ratio.hpp"

namespace runner {
namespace {

struct Lars {
  double lr = 0.1;
  double momentum = 0.9;
  double weight_decay = 0.0;
  double trust_coefficient = 0.001;
  bool adapt_biases_and_norms = true;
};

constexpr auto describe(std::type_identity<Lars>) {
  return fields(field("lr", &Lars::lr, "Peak learning rate, before the schedule.", above(0)),
                field("momentum", &Lars::momentum, "Momentum.", within(0, 1)),
                field("weight_decay", &Lars::weight_decay,
                      "Weight decay, added to the gradient (L2 penalty).", at_least(0)),
                field("trust_coefficient", &Lars::trust_coefficient,
                      "Norm of an update relative to the norm of its layer's weights.", above(0)),
                field("adapt_biases_and_norms", &Lars::adapt_biases_and_norms,
                      "Scale the updates of parameters of one dimension too; otherwise they use plain SGD."));
}

// You, Gitman and Ginsburg 2017.
//   velocity = momentum velocity + lr trust |weight| / (|g| + decay |weight|) (g + decay weight)
//   weight -= velocity
class LarsOptimizer final : public FusedOptimizer {
 public:
  LarsOptimizer(const Lars& settings, const OptimizerInputs& inputs)
      : FusedOptimizer(inputs.groups, {"momentum_buffer"}, settings.lr, settings.weight_decay),
        settings_(settings) {}

 private:
  void update(const Lists& lists, double lr, double weight_decay) override {
    const auto ratios = trust_ratios(lists.parameters, lists.gradients, weight_decay,
                                     settings_.trust_coefficient, settings_.adapt_biases_and_norms);
    const auto steps = at::_foreach_mul(decayed_gradients(lists, weight_decay), ratios);
    const at::TensorList velocities = lists.slots[0];
    at::_foreach_mul_(velocities, settings_.momentum);
    at::_foreach_add_(velocities, steps, lr);
    at::_foreach_sub_(lists.parameters, velocities);
  }

  Lars settings_;
};

std::unique_ptr<Optimizer> build(const Lars& settings, const OptimizerInputs& inputs) {
  return std::make_unique<LarsOptimizer>(settings, inputs);
}

const Registration<OptimizerKind> registration{
    "lars", "SGD with updates scaled to the norm of each layer's weights: for very large batches.", &build};

}  // namespace
}  // namespace runner
