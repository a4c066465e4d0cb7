#include "runner/inspect/optimizer_bytes.hpp"

#include <torch/types.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "components/torch/meta_mode.hpp"

namespace runner {

namespace {

// Tracks the tensors that operators create, for as long as they exist.
class WatchedStep final : public OperatorMode {
 public:
  WatchedStep(bool on_meta, const std::vector<torch::Tensor>& there_before) : on_meta_(on_meta) {
    for (const torch::Tensor& tensor : there_before)
      there_before_.insert(tensor.storage().unsafeGetStorageImpl());
  }

  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    const std::size_t results = op.schema().returns().size();
    if (on_meta_) {
      meta_.run(op, stack);
    } else {
      op.callBoxed(&stack);
    }
    for (std::size_t i = stack.size() - std::min(results, stack.size()); i < stack.size(); ++i) {
      if (stack[i].isTensor()) note(stack[i].toTensor());
      if (!stack[i].isTensorList()) continue;
      for (const torch::Tensor& tensor : stack[i].toTensorVector()) note(tensor);
    }
    grow_old();
    most_ = std::max(most_, old_bytes_ + drop_dead(young_));
  }

  std::int64_t most_bytes() const { return most_; }
  std::int64_t bytes_alive() { return drop_dead(old_) + drop_dead(young_); }

 private:
  using Storages = std::map<const void*, c10::weak_intrusive_ptr<c10::StorageImpl>>;

  // Removes those that no longer exist, and returns the bytes of the others.
  static std::int64_t drop_dead(Storages& storages) {
    std::int64_t sum = 0;
    std::erase_if(storages, [&](const auto& entry) {
      const auto alive = entry.second.lock();
      if (alive) sum += static_cast<std::int64_t>(alive->nbytes());
      return !alive;
    });
    return sum;
  }

  // The state of an optimizer stays, and grows with the model. It is looked at ever more rarely, so that the
  // time of a call does not grow with it.
  void grow_old() {
    constexpr std::size_t most_young = 64;
    if (young_.size() > most_young) {
      old_bytes_ += drop_dead(young_);
      old_.merge(std::exchange(young_, {}));
    }
    if (++calls_ <= old_.size()) return;
    calls_ = 0;
    old_bytes_ = drop_dead(old_);
  }

  void note(const torch::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return;
    const void* const place = tensor.storage().unsafeGetStorageImpl();
    if (there_before_.contains(place)) return;
    if (const auto known = old_.find(place); known != old_.end()) {
      if (known->second.lock()) return;
      old_.erase(known);  // another one had this place
    }
    young_.insert_or_assign(place, tensor.storage().getWeakStorageImpl());
  }

  const bool on_meta_;
  MetaMode meta_;
  std::set<const void*> there_before_;
  Storages young_, old_;
  std::int64_t old_bytes_ = 0;  // when they were last looked at
  std::size_t calls_ = 0;       // since then
  std::int64_t most_ = 0;
};

}  // namespace

OptimizerBytes optimizer_bytes(std::vector<torch::Tensor> parameters, Optimizer& optimizer) {
  std::vector<torch::Tensor> there_before = parameters;
  for (torch::Tensor& parameter : parameters) {
    if (!parameter.requires_grad()) continue;
    parameter.mutable_grad() = torch::zeros_like(parameter);
    there_before.push_back(parameter.grad());
  }
  WatchedStep step(parameters.front().is_meta(), there_before);
  {
    const OperatorModeScope scope(step);
    optimizer.step(0.0);
  }
  return {optimizer.save().bytes(), step.most_bytes() - step.bytes_alive()};
}

}  // namespace runner
