#include "components/optimizers/adam_optimizer.hpp"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>

namespace runner {

namespace {

std::vector<std::string> slots(bool amsgrad) {
  if (amsgrad) return {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  return {"exp_avg", "exp_avg_sq"};
}

}  // namespace

AdamOptimizer::AdamOptimizer(const Settings& settings, const OptimizerInputs& inputs)
    : FusedOptimizer(inputs.groups, slots(settings.amsgrad), settings.lr, settings.weight_decay),
      settings_(settings) {}

void AdamOptimizer::update(const Lists& shaped, double lr, double weight_decay) {
  const Lists lists = in_rows(shaped);
  // The kernels need the number of updates as one tensor per parameter; it is the same for all parameters in
  // these lists.
  const auto number =
      torch::full({}, static_cast<double>(lists.updates + 1),
                  lists.parameters.front().options().dtype(torch::kFloat32).requires_grad(false));
  const std::vector<torch::Tensor> numbers(lists.parameters.size(), number);
  const at::TensorList largest = settings_.amsgrad ? at::TensorList{lists.slots[2]} : at::TensorList{};
  const auto fused = [&](auto kernel) {
    kernel(lists.parameters, lists.gradients, lists.slots[0], lists.slots[1], largest, numbers, lr,
           settings_.betas[0], settings_.betas[1], weight_decay, settings_.eps, settings_.amsgrad,
           /*maximize=*/false);
  };
  if (settings_.decoupled) {
    fused([](auto&&... arguments) { at::_fused_adamw_(arguments...); });
  } else {
    fused([](auto&&... arguments) { at::_fused_adam_(arguments...); });
  }
}

void check_betas(const std::vector<double>& betas, Report& report, const char* key) {
  if (betas.size() != 2) report.error(key, "takes two numbers: of the gradient's mean and of its square's");
}

}  // namespace runner
