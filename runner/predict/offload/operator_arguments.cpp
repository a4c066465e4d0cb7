#include "runner/predict/offload/operator_arguments.hpp"

namespace runner {

namespace {

void visit_value(const c10::IValue& value, const std::function<void(const torch::Tensor&)>& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& each : value.toListRef()) visit_value(each, visit);
  }
}

// Operators on any device accept a 0-dimensional tensor on the CPU.
bool is_number(const torch::Tensor& tensor) { return tensor.dim() == 0 && tensor.is_cpu(); }

c10::IValue moved(const c10::IValue& value, torch::Device device) {
  const auto move = [&](const torch::Tensor& tensor) {
    return tensor.defined() && !is_number(tensor) ? tensor.to(device) : tensor;
  };
  if (value.isTensor()) return move(value.toTensor());
  if (value.isTensorList()) {
    c10::List<torch::Tensor> list;
    for (const torch::Tensor& each : value.toTensorVector()) list.push_back(move(each));
    return list;
  }
  if (!value.isList()) return value;
  c10::impl::GenericList list(value.toList().elementType());
  for (const c10::IValue& each : value.toListRef()) list.push_back(moved(each, device));
  return list;
}

}  // namespace

void for_each_tensor(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                     const std::function<void(const torch::Tensor&)>& visit) {
  for (std::size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i)
    visit_value(stack[i], visit);
}

void bring_together(const c10::OperatorHandle& op, torch::jit::Stack& stack,
                    const std::optional<torch::Device>& weights) {
  std::optional<torch::Device> first;
  bool several = false;
  for_each_tensor(op, stack, [&](const torch::Tensor& tensor) {
    if (is_number(tensor)) return;
    if (!first) first = tensor.device();
    several = several || tensor.device() != *first;
  });
  if (!several) return;
  const auto& arguments = op.schema().arguments();
  const std::size_t begin = stack.size() - arguments.size();
  torch::Device target = weights.value_or(*first);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* const alias = arguments[i].alias_info();
    if (alias && alias->isWrite())
      visit_value(stack[begin + i], [&](const torch::Tensor& tensor) { target = tensor.device(); });
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) stack[begin + i] = moved(stack[begin + i], target);
}

}  // namespace runner
