#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/types.h>

#include <functional>
#include <optional>

namespace runner {

// Visits every tensor among the arguments of an operator on the stack, including those in lists.
void for_each_tensor(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                     const std::function<void(const torch::Tensor&)>& visit);

// Moves arguments that are on several devices to one: that of a tensor that the operator writes to, else that
// of the weights that it reads, else that of the first tensor.
void bring_together(const c10::OperatorHandle& op, torch::jit::Stack& stack,
                    const std::optional<torch::Device>& weights);

}  // namespace runner
