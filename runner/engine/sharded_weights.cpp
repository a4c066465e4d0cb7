#include "runner/engine/sharded_weights.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <optional>

#include "components/support/shape_text.hpp"
#include "runner/engine/tensor_spool.hpp"

namespace runner {

namespace {

// Its parameters can be read as long as this lives. Every rank makes one at the same time.
class Gathered {
 public:
  explicit Gathered(ShardedUnit& unit) : unit_(unit) {
    unit_.begin_gather();
    unit_.finish_gather();
  }
  ~Gathered() { unit_.release(); }
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;

 private:
  ShardedUnit& unit_;
};

torch::Tensor copied(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCPU, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true,
                            torch::MemoryFormat::Contiguous);
}

}  // namespace

std::vector<NamedTensor> ShardedWeights::held_parameters() const {
  std::vector<NamedTensor> held;
  for (const auto& item : model_.named_parameters())
    held.push_back({item.key(), parameters_.slice_of(item.value())});
  return held;
}

std::vector<NamedTensor> ShardedWeights::held_buffers() const {
  std::vector<NamedTensor> held;
  for (const auto& item : model_.named_buffers()) held.push_back({item.key(), item.value()});
  return held;
}

void ShardedWeights::visit(const Visit& visit) const {
  for (const auto& unit : parameters_.units()) {
    const Gathered gathered(*unit);
    const torch::Tensor gradients =
        unit->kept_gradients().defined() ? unit->gather_gradients() : torch::Tensor();
    for (std::size_t i = 0; i < unit->parameters().size(); ++i) {
      const auto& [name, parameter] = unit->parameters()[i];
      const bool present = gradients.defined() && unit->has_gradient(i);
      visit(name, parameter.detach(), present ? unit->layout().parameter_in(gradients, i) : torch::Tensor());
    }
  }
}

std::vector<std::string> ShardedWeights::parameter_names() const { return model_.named_parameters().keys(); }

bool ShardedWeights::trained(const std::string& name) const {
  const auto parameters = model_.named_parameters();
  const torch::Tensor* parameter = parameters.find(name);
  return parameter && parameter->requires_grad();
}

std::vector<NamedTensor> ShardedWeights::all(const std::filesystem::path& folder) const {
  const torch::NoGradGuard no_grad;
  std::optional<TensorSpool> spool;
  if (world_.is_main() && !folder.empty()) spool.emplace(folder);
  std::map<const torch::TensorImpl*, torch::Tensor> whole;
  for (const auto& unit : parameters_.units()) {
    const Gathered gathered(*unit);
    if (!world_.is_main()) continue;
    for (const auto& [name, parameter] : unit->parameters())
      whole[parameter.unsafeGetTensorImpl()] = spool ? spool->put(parameter) : copied(parameter);
  }
  std::vector<NamedTensor> all;
  if (!world_.is_main()) return all;
  for (const auto& item : model_.named_parameters())
    all.push_back({item.key(), whole.at(item.value().unsafeGetTensorImpl())});
  for (NamedTensor& buffer : held_buffers()) all.push_back(std::move(buffer));
  return all;
}

State ShardedWeights::save() const {
  const torch::NoGradGuard no_grad;
  std::map<const torch::TensorImpl*, torch::Tensor> own;
  for (std::size_t i = 0; i < parameters_.units().size(); ++i) {
    const Gathered gathered(*parameters_.units()[i]);
    if (parameters_.writer_of(i) != world_.rank()) continue;
    for (const auto& [name, parameter] : parameters_.units()[i]->parameters())
      own[parameter.unsafeGetTensorImpl()] = copied(parameter);
  }
  State state;
  for (const auto& item : model_.named_parameters())  // one parameter may have two names
    if (const auto found = own.find(item.value().unsafeGetTensorImpl()); found != own.end())
      state.tensors[item.key()] = found->second;
  if (world_.is_main())
    for (const auto& [name, buffer] : held_buffers()) state.tensors[name] = buffer;
  return state;
}

State WeightsOnOneRank::save() const {
  State state;
  for (const auto& [name, tensor] : weights_.all()) state.tensors[name] = tensor;
  return state;
}

void ShardedWeights::load(const State& state) {
  const torch::NoGradGuard no_grad;
  StateReader saved(state);
  for (const auto& item : model_.named_parameters()) {
    const torch::Tensor& whole = saved.tensor(item.key());
    if (whole.sizes() != item.value().sizes())
      throw StateError("the saved state has \"" + item.key() + "\" in the shape " +
                       shape_text(whole.sizes()) + ", but here it is " + shape_text(item.value().sizes()));
    const auto [unit, index] = parameters_.place_of(item.value());
    torch::Tensor(parameters_.slice_of(item.value()))
        .copy_(parameters_.units()[unit]->own_slice(whole, index));
  }
  for (const auto& [name, tensor] : held_buffers()) saved.tensor_into(name, tensor);
  saved.finish();
}

}  // namespace runner
