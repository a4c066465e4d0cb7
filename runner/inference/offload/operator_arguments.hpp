#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/types.h>

#include <functional>
#include <optional>

namespace runner {

// Every tensor among the arguments of an operator, which are on the stack; those in lists, too.
void for_each_tensor(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                     const std::function<void(const torch::Tensor&)>& visit);

// Arguments that lie on several devices are moved to one: to that of a tensor that the operator writes into,
// else to that of the weights that it reads, else to that of the first one.
void bring_together(const c10::OperatorHandle& op, torch::jit::Stack& stack,
                    const std::optional<torch::Device>& weights);

}  // namespace runner
