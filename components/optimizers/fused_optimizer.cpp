#include "components/optimizers/fused_optimizer.hpp"

#include "registry/base/wording.hpp"

#include <ATen/ops/_foreach_add.h>

#include <stdexcept>

namespace runner {

namespace {

// The kernels treat parameter, gradient and state as flat memory, so their layouts must be the same. Autograd
// uses the parameter's layout for gradients; code that sets a gradient itself may not.
torch::Tensor in_layout_of(const torch::Tensor& parameter, const torch::Tensor& gradient) {
  if (gradient.strides() == parameter.strides() && gradient.scalar_type() == parameter.scalar_type())
    return gradient;
  return torch::empty_like(parameter).copy_(gradient);
}

}  // namespace

FusedOptimizer::FusedOptimizer(std::vector<ParameterGroup> groups, std::vector<std::string> slots, double lr,
                               double weight_decay)
    : peak_lr_(lr), slots_(std::move(slots)) {
  for (ParameterGroup& group : groups) {
    std::map<std::pair<std::string, torch::Dtype>, std::size_t> bucket_of;
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      const torch::Tensor& parameter = group.parameters[i];
      if (!parameter.is_non_overlapping_and_dense()) {
        throw std::runtime_error("Parameter " + in_quotes(group.names[i]) +
                                 " has gaps in memory and cannot be optimized.");
      }
      const auto [entry, is_new] =
          bucket_of.try_emplace({parameter.device().str(), parameter.scalar_type()}, buckets_.size());
      if (is_new) buckets_.push_back({group.lr_multiplier, group.weight_decay.value_or(weight_decay)});
      buckets_[entry->second].members.push_back({group.names[i], parameter});
    }
  }
}

void FusedOptimizer::step(double lr_factor) {
  const torch::NoGradGuard no_grad;
  for (Bucket& bucket : buckets_) {
    refresh_lists(bucket);
    for (std::size_t i = 0; i < bucket.lists.size(); ++i) {
      Lists& lists = bucket.lists[i];
      for (const std::size_t member : bucket.listed[i]) {
        const torch::Tensor& parameter = bucket.members[member].parameter;
        lists.gradients.push_back(in_layout_of(parameter, parameter.grad()));
      }
      update(lists, peak_lr_ * lr_factor * bucket.lr_multiplier, bucket.weight_decay);
      lists.gradients.clear();  // so that their memory is freed when gradients are set to none
      ++lists.updates;
      for (const std::size_t member : bucket.listed[i]) ++bucket.members[member].updates;
    }
  }
}

// A parameter without a gradient is not updated, as in torch.optim. The lists are reused from step to step
// unless another set of parameters has gradients.
void FusedOptimizer::refresh_lists(Bucket& bucket) const {
  bool same = !bucket.lists.empty();
  for (Member& member : bucket.members) {
    const bool active = member.parameter.grad().defined();
    same = same && active == member.active;
    member.active = active;
  }
  if (same) return;

  bucket.lists.clear();
  bucket.listed.clear();
  std::map<std::int64_t, std::size_t> list_of;  // by updates so far
  for (std::size_t i = 0; i < bucket.members.size(); ++i) {
    Member& member = bucket.members[i];
    if (!member.active) continue;
    if (member.slots.empty()) make_slots(member);
    const auto [entry, is_new] = list_of.try_emplace(member.updates, bucket.lists.size());
    if (is_new) {
      bucket.lists.push_back(
          {.slots = std::vector<std::vector<torch::Tensor>>(slots_.size()), .updates = member.updates});
      bucket.listed.emplace_back();
    }
    Lists& lists = bucket.lists[entry->second];
    lists.parameters.push_back(member.parameter);
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) lists.slots[slot].push_back(member.slots[slot]);
    bucket.listed[entry->second].push_back(i);
  }
}

void FusedOptimizer::make_slots(Member& member) const {
  member.slots.clear();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    member.slots.push_back(make_slot(slot, member.parameter));
  }
}

torch::Tensor FusedOptimizer::make_slot(std::size_t /*slot*/, const torch::Tensor& parameter) const {
  return torch::zeros_like(parameter, torch::TensorOptions().requires_grad(false));
}

FusedOptimizer::Lists FusedOptimizer::in_rows(const Lists& lists) {
  Lists rows = lists;
  const auto flatten = [](std::vector<torch::Tensor>& tensors) {
    for (torch::Tensor& tensor : tensors) {
      if (!tensor.is_contiguous()) tensor = tensor.as_strided({tensor.numel()}, {1});
    }
  };
  flatten(rows.parameters);
  flatten(rows.gradients);
  for (auto& slot : rows.slots) flatten(slot);
  return rows;
}

std::vector<torch::Tensor> FusedOptimizer::decayed_gradients(const Lists& lists, double weight_decay) {
  if (weight_decay == 0) return lists.gradients;
  return at::_foreach_add(lists.gradients, lists.parameters, weight_decay);
}

State FusedOptimizer::save() const {
  State state;
  for (const Bucket& bucket : buckets_) {
    for (const Member& member : bucket.members) {
      if (member.updates == 0) continue;
      state.integers[member.name + ".step"] = member.updates;
      for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
        if (member.slots[slot].defined())
          state.tensors[member.name + "." + slots_[slot]] = member.slots[slot];
      }
    }
  }
  return state;
}

void FusedOptimizer::load(const State& state) {
  StateReader saved(state);
  for (Bucket& bucket : buckets_) {
    bucket.lists.clear();
    bucket.listed.clear();
    for (Member& member : bucket.members) {
      member.slots.clear();
      member.updates = saved.find_integer(member.name + ".step").value_or(0);
      if (member.updates == 0) continue;  // never had a gradient
      make_slots(member);
      for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
        if (member.slots[slot].defined())
          saved.tensor_into(member.name + "." + slots_[slot], member.slots[slot]);
      }
    }
  }
  saved.finish();
}

}  // namespace runner
