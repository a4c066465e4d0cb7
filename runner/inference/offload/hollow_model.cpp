#include "runner/inference/offload/hollow_model.hpp"

#include <torch/types.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "components/support/operator_mode.hpp"
#include "runner/inspect/blueprint.hpp"
#include "runner/parts.hpp"

namespace runner {

namespace {

// Sees every tensor that is made from nothing, in order, and makes some of them on the meta device.
class FactoryMode final : public OperatorMode {
 public:
  using Choice = std::function<bool(std::size_t)>;
  explicit FactoryMode(Choice on_meta) : on_meta_(std::move(on_meta)) {}

  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    const auto& arguments = op.schema().arguments();
    const auto device = std::ranges::find(arguments, "device", &c10::Argument::name);
    if (device == arguments.end()) return op.callBoxed(&stack);
    const auto first = static_cast<std::ptrdiff_t>(stack.size() - arguments.size());
    if (on_meta_(made_.size()))
      stack[static_cast<std::size_t>(first + (device - arguments.begin()))] = c10::Device(c10::kMeta);
    op.callBoxed(&stack);
    made_.push_back(stack.back().isTensor() ? stack.back().toTensor().storage() : c10::Storage());
  }

  // Storages, because a tensor that somebody else holds is copied when it becomes a parameter.
  const std::vector<c10::Storage>& made() const { return made_; }

 private:
  Choice on_meta_;
  std::vector<c10::Storage> made_;
};

// Which of the tensors that the constructor makes become its parameters.
std::set<std::size_t> parameters_among_made(const Recipe& recipe, const DataSpec& data) {
  FactoryMode sketch([](std::size_t) { return true; });
  const OperatorModeScope scope(sketch);
  const std::shared_ptr<Model> model = build_bare_model(recipe, data);
  std::set<const c10::StorageImpl*> parameters;
  for (const torch::Tensor& parameter : model->parameters())
    parameters.insert(parameter.storage().unsafeGetStorageImpl());
  std::set<std::size_t> found;
  for (std::size_t i = 0; i < sketch.made().size(); ++i)
    if (sketch.made()[i] && parameters.contains(sketch.made()[i].unsafeGetStorageImpl())) found.insert(i);
  return found;
}

}  // namespace

// A constructor makes the same tensors in the same order every time, so the first time, when none of them has
// memory, tells which ones need none the second time.
std::shared_ptr<Model> build_hollow_model(const Recipe& recipe, const DataSpec& data) {
  if (from_plugin(recipe.model)) return build_bare_model(recipe, data);
  const std::set<std::size_t> parameters = parameters_among_made(recipe, data);
  FactoryMode hollow([&](std::size_t number) { return parameters.contains(number); });
  const OperatorModeScope scope(hollow);
  return build_bare_model(recipe, data);
}

}  // namespace runner
