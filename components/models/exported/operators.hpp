#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>
#include <string_view>

#include "components/models/exported/program.hpp"

namespace runner::exported {

// "aten.conv2d.default" of "torch.ops.aten.conv2d.default"; empty if it is not an operator.
std::string_view operator_name(std::string_view target);

// The operator of LibTorch that a node calls. Throws Refusal for operators of other libraries and for those
// that do more than compute with tensors, such as reading a file.
c10::OperatorHandle find_operator(const Node& node);

// Nodes that only check what is true for any program that runs: types, which autocast changes, and sizes.
bool only_checks(const Node& node);

// A function on numbers, such as the product of two sizes: "_operator.mul".
using Arithmetic = c10::IValue (*)(const std::vector<c10::IValue>& arguments);
Arithmetic find_arithmetic(std::string_view target);  // null: there is none

}  // namespace runner::exported
