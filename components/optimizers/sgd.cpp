#include <ATen/ops/_fused_sgd.h>

#include "components/optimizers/fused_optimizer.hpp"

namespace runner {
namespace {

struct Sgd {
  double lr = 0.1;
  double momentum = 0.9;
  double dampening = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
};

constexpr auto describe(std::type_identity<Sgd>) {
  return fields(
      field("lr", &Sgd::lr, "Peak learning rate, before the schedule.", above(0)),
      field("momentum", &Sgd::momentum, "Momentum; 0: none.", within(0, 1)),
      field("dampening", &Sgd::dampening, "Dampening of the gradient in the velocity.", within(0, 1)),
      field("nesterov", &Sgd::nesterov, "Look-ahead momentum."),
      field("weight_decay", &Sgd::weight_decay, "Weight decay, added to the gradient (L2 penalty).",
            at_least(0)));
}

void check(const Sgd& sgd, Report& report) {
  if (sgd.nesterov && sgd.momentum == 0) report.error("nesterov", "needs momentum above 0");
  if (sgd.nesterov && sgd.dampening != 0) report.error("nesterov", "needs dampening = 0");
  if (sgd.dampening != 0 && sgd.momentum == 0) report.error("dampening", "has no effect without momentum");
}

// velocity = momentum * velocity + (1 - dampening) * gradient; at the first update, velocity = gradient
// weight -= lr * velocity
class SgdOptimizer final : public FusedOptimizer {
 public:
  SgdOptimizer(const Sgd& settings, const OptimizerInputs& inputs)
      : FusedOptimizer(
            inputs.groups,
            settings.momentum > 0 ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{},
            settings.lr, settings.weight_decay),
        settings_(settings) {}

 private:
  void update(const Lists& shaped, double lr, double weight_decay) override {
    const Lists lists = in_rows(shaped);
    const at::TensorList velocities = lists.slots.empty() ? at::TensorList{} : at::TensorList{lists.slots[0]};
    at::_fused_sgd_(lists.parameters, lists.gradients, velocities, weight_decay, settings_.momentum, lr,
                    settings_.dampening, settings_.nesterov, /*maximize=*/false,
                    /*is_first_step=*/lists.updates == 0);
  }

  Sgd settings_;
};

OptimizerFacts facts(const Sgd&) { return {UpdatesBy::element}; }

std::unique_ptr<Optimizer> build(const Sgd& settings, const OptimizerInputs& inputs) {
  return std::make_unique<SgdOptimizer>(settings, inputs);
}

const Registration<OptimizerKind> registration{
    "sgd", "Gradient descent with momentum, one fused update per step.", &build};

}  // namespace
}  // namespace runner
