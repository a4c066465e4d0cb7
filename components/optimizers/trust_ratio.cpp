#include "components/optimizers/trust_ratio.hpp"

#include <ATen/ops/_foreach_norm.h>

namespace runner {

std::vector<torch::Tensor> trust_ratios(at::TensorList parameters, at::TensorList updates, double damping,
                                        double coefficient, bool biases_and_norms_too) {
  // All norms in one tensor: only a few small operations, and nothing waits for the device.
  const torch::Tensor weights = torch::stack(at::_foreach_norm(parameters));
  const torch::Tensor steps = torch::stack(at::_foreach_norm(updates));
  // 1 if there is a ratio, otherwise 0. Not torch::where: memory estimates cannot run it without data.
  const torch::Tensor known = weights.gt(0).bitwise_and(steps.gt(0)).to(weights.scalar_type());
  const torch::Tensor unknown = 1 - known;
  const torch::Tensor ratios = coefficient * weights / (steps + damping * weights + unknown);
  auto list = (ratios * known + unknown).unbind();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!biases_and_norms_too && parameters[i].dim() <= 1) list[i] = torch::ones_like(list[i]);
  }
  return list;
}

}  // namespace runner
