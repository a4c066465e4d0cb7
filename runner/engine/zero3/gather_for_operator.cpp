// ShardedParameters::run: gathers what an operator of the model reads before it runs.
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <algorithm>

#include "runner/engine/zero3/sharded_parameters.hpp"

namespace runner {

namespace {

// Replaces the cast of a parameter, or of a view of it, by autocast: the parameters already exist in the
// narrower type, in the same order. Returns a view of that storage, whose gradient flows to `uncast`.
struct Cast final : torch::autograd::Function<Cast> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& uncast,
                               const c10::Storage& cast, torch::ScalarType type) {
    context->saved_data["type"] = uncast.scalar_type();
    return torch::empty({0}, uncast.options().dtype(type).requires_grad(false))
        .set_(cast, uncast.storage_offset(), uncast.sizes(), uncast.strides());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0].to(context->saved_data["type"].toScalarType()), {}, {}};
  }
};

bool casts(const c10::OperatorHandle& op) {
  static const c10::OperatorHandle to_type =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::to", "dtype");
  return op == to_type;
}

// Whether the operator only makes views, and so reads no elements.
bool makes_views(const c10::OperatorHandle& op) {
  const auto& results = op.schema().returns();
  const auto is_view = [](const c10::Argument& result) {
    return result.alias_info() && !result.alias_info()->isWrite();
  };
  return !results.empty() && std::ranges::all_of(results, is_view) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);  // which may copy
}

}  // namespace

ShardedParameters::Touched ShardedParameters::touched_by(const c10::OperatorHandle& op,
                                                         const torch::jit::Stack& stack,
                                                         bool with_autocast) const {
  Touched found;
  const auto add = [](std::vector<std::size_t>& gatherables, std::size_t one) {
    if (std::ranges::find(gatherables, one) == gatherables.end()) gatherables.push_back(one);
  };
  const auto look_at = [&](const torch::Tensor& tensor, bool written) {
    if (!tensor.defined() || !tensor.has_storage()) return;
    const auto found_storage = gatherable_of_.find(tensor.storage().unsafeGetStorageImpl());
    if (found_storage == gatherable_of_.end()) return;
    const bool cast = with_autocast && may_be_given_cast(tensor);
    const std::size_t gatherable = cast ? gatherables_[found_storage->second].unit : found_storage->second;
    add(found.all, gatherable);
    if (written) add(found.written, gatherable);
  };
  const auto& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue& value = stack[stack.size() - arguments.size() + i];
    const c10::AliasInfo* alias = arguments[i].alias_info();
    const bool written = alias && alias->isWrite();
    if (value.isTensor()) {
      look_at(value.toTensor(), written);
    } else if (value.isList()) {
      for (const c10::IValue& each : value.toListRef())
        if (each.isTensor()) look_at(each.toTensor(), written);
    }
  }
  return found;
}

// Only the kernels of autocast know whether they cast a parameter, so the operators that they call are
// watched instead, and what these read is gathered. Parameters that may be cast are gathered beforehand:
// during a cast autocast holds a lock of the process, under which this rank must not wait for other ranks.
bool ShardedParameters::looks_inside(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  if (!options_.cast || units_.empty()) return false;
  const torch::DeviceType device = units_.front()->parameters().front().tensor.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return false;
  const bool has_rule =
      op.hasKernelForDispatchKey(at::autocast::get_autocast_dispatch_key_from_device_type(device));
  if (!has_rule && !op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) return false;
  const std::vector<std::size_t> touched = touched_by(op, stack, /*with_autocast=*/true).all;
  if (touched.empty()) return false;
  if (has_rule) need(touched);
  return true;
}

void ShardedParameters::provide(std::span<const std::size_t> gatherables, const c10::OperatorHandle& op) {
  const auto at_hand = [&](std::size_t each) { return copy(each).gathered(); };
  // A cast within another operator, for which the parameters were gathered.
  if (options_.cast && casts(op) && std::ranges::all_of(gatherables, at_hand)) {
    for (const std::size_t each : gatherables) finish_gather(each);
  } else {
    need(gatherables);
  }
}

// Whether the tensor is a parameter, or a view of one such as its transpose, in the same layout as its cast.
bool ShardedParameters::may_be_given_cast(const torch::Tensor& tensor) const {
  const auto gatherable = gatherable_of_.find(tensor.storage().unsafeGetStorageImpl());
  return gatherable != gatherable_of_.end() && gatherables_[gatherable->second].copy == ShardedUnit::uncast &&
         tensor.is_non_overlapping_and_dense();
}

// If autocast casts a parameter, returns the copy that was gathered in that type. Not for other casts, whose
// caller may write into the result.
bool ShardedParameters::give_cast(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  if (!options_.cast || !casts(op)) return false;
  const std::size_t arguments = op.schema().arguments().size(), first = stack.size() - arguments;
  const torch::Tensor& uncast = stack[first].toTensor();
  const bool asked_by_autocast = stack[first + 1].toScalarType() == *options_.cast &&
                                 !at::autocast::is_autocast_enabled(uncast.device().type());
  if (!asked_by_autocast || !uncast.has_storage() || !may_be_given_cast(uncast)) return false;
  const std::size_t unit = gatherables_[gatherable_of_.at(uncast.storage().unsafeGetStorageImpl())].unit;
  provide(std::array{unit}, op);
  torch::Tensor cast = Cast::apply(uncast, units_[unit]->cast_storage(), *options_.cast);
  torch::jit::drop(stack, arguments);
  torch::jit::push(stack, std::move(cast));
  return true;
}

void ShardedParameters::run(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  if (give_cast(op, stack)) return;
  const Touched touched = touched_by(op, stack);
  if (!touched.all.empty() && !(options_.cast && makes_views(op))) provide(touched.all, op);
  op.callBoxed(&stack);
  for (const std::size_t written : touched.written) keep_changes(written);
}

}  // namespace runner
