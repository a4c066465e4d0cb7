#include "runner/engine/strategies/owned_gradients.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include "runner/engine/strategies/together.hpp"

namespace runner {

void OwnedGradients::visit(const Visit& visit) const {
  const torch::NoGradGuard no_grad;
  const std::vector<NamedTensor> parameters = held_.held_parameters();
  const auto owned = [&](std::size_t i) { return owners_[i] == world_.rank(); };
  // Only the owner knows whether there is a gradient: a frozen or unused parameter has none.
  const torch::Tensor present = torch::zeros(static_cast<std::int64_t>(parameters.size()), torch::kInt64);
  auto* const has_gradient = present.mutable_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    has_gradient[i] = owned(i) && parameters[i].tensor.grad().defined() ? 1 : 0;
  world_.all_reduce(present, Reduction::max, "which parameters have gradients");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, parameter] = parameters[i];
    torch::Tensor gradient;
    if (has_gradient[i] != 0) {
      gradient = owned(i) ? parameter.grad() : torch::empty_like(parameter);
      broadcast_together(world_, {gradient}, owners_[i], "the gradients");
    }
    visit(name, parameter.detach(), gradient);
  }
}

}  // namespace runner
