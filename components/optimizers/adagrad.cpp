#include <ATen/ops/_fused_adagrad.h>

#include "components/optimizers/fused_optimizer.hpp"

namespace runner {
namespace {

struct Adagrad {
  double lr = 0.01;
  double lr_decay = 0.0;
  double weight_decay = 0.0;
  double initial_accumulator_value = 0.0;
  double eps = 1e-10;
};

constexpr auto describe(std::type_identity<Adagrad>) {
  return fields(
      field("lr", &Adagrad::lr, "Peak learning rate, before the schedule.", above(0)),
      field("lr_decay", &Adagrad::lr_decay, "The learning rate is divided by 1 + lr_decay * updates so far.",
            at_least(0)),
      field("weight_decay", &Adagrad::weight_decay, "Weight decay, added to the gradient (L2 penalty).",
            at_least(0)),
      field("initial_accumulator_value", &Adagrad::initial_accumulator_value,
            "Initial value of the sums of squares.", at_least(0)),
      field("eps", &Adagrad::eps, "Added to the denominator, against division by zero.", at_least(0)));
}

// Duchi, Hazan and Singer 2011.  sum += g²,  weight -= lr g / (sqrt(sum) + eps)
class AdagradOptimizer final : public FusedOptimizer {
 public:
  AdagradOptimizer(const Adagrad& settings, const OptimizerInputs& inputs)
      : FusedOptimizer(inputs.groups, {"sum"}, settings.lr, settings.weight_decay), settings_(settings) {}

 private:
  void update(const Lists& shaped, double lr, double weight_decay) override {
    const Lists lists = in_rows(shaped);
    // The kernel needs the number of updates as one tensor per parameter.
    const auto number =
        torch::full({}, static_cast<double>(lists.updates + 1),
                    lists.parameters.front().options().dtype(torch::kFloat32).requires_grad(false));
    const std::vector<torch::Tensor> numbers(lists.parameters.size(), number);
    at::_fused_adagrad_(lists.parameters, lists.gradients, lists.slots[0], numbers, lr, settings_.lr_decay,
                        weight_decay, settings_.eps, /*maximize=*/false);
  }

  torch::Tensor make_slot(std::size_t slot, const torch::Tensor& parameter) const override {
    return FusedOptimizer::make_slot(slot, parameter).fill_(settings_.initial_accumulator_value);
  }

  Adagrad settings_;
};

OptimizerFacts facts(const Adagrad&) { return {UpdatesBy::element}; }

std::unique_ptr<Optimizer> build(const Adagrad& settings, const OptimizerInputs& inputs) {
  return std::make_unique<AdagradOptimizer>(settings, inputs);
}

const Registration<OptimizerKind> registration{
    "adagrad",
    "Steps shrink with the sum of all squared gradients of each weight; one fused update per step.", &build};

}  // namespace
}  // namespace runner
