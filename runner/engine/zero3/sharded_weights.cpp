#include "runner/engine/zero3/sharded_weights.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <optional>

#include "components/models/weights/model_weights.hpp"
#include "components/torch/shape_text.hpp"
#include "registry/base/wording.hpp"
#include "runner/engine/zero3/tensor_spool.hpp"

namespace runner {

namespace {

torch::Tensor in_main_memory(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCPU, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true,
                            torch::MemoryFormat::Contiguous);
}

}  // namespace

std::vector<NamedTensor> ShardedWeights::held_parameters() const {
  std::vector<NamedTensor> held = each_once(model_.named_parameters());
  for (NamedTensor& parameter : held) parameter.tensor = parameters_.slice_of(parameter.tensor);
  return held;
}

std::vector<NamedTensor> ShardedWeights::held_buffers() const { return each_once(model_.named_buffers()); }

void ShardedWeights::visit(const Visit& visit) const {
  for (const auto& unit : parameters_.units()) {
    const UnitLayout& layout = unit->layout();
    const torch::Tensor values = unit->gather_weights();
    const torch::Tensor gradients =
        unit->kept_gradients().defined() ? unit->gather_gradients() : torch::Tensor();
    for (std::size_t i = 0; i < unit->parameters().size(); ++i) {
      const bool present = gradients.defined() && unit->has_gradient(i);
      visit(unit->parameters()[i].name, layout.parameter_in(values, i),
            present ? layout.parameter_in(gradients, i) : torch::Tensor());
    }
  }
}

std::vector<std::string> ShardedWeights::parameter_names() const {
  return ModelWeights(model_).parameter_names();
}

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
    const torch::Tensor values = unit->gather_weights();
    if (!world_.is_main()) continue;
    for (std::size_t i = 0; i < unit->parameters().size(); ++i) {
      const torch::Tensor value = unit->layout().parameter_in(values, i);
      whole[unit->parameters()[i].tensor.unsafeGetTensorImpl()] =
          spool ? spool->put(value) : in_main_memory(value);
    }
  }
  std::vector<NamedTensor> all;
  if (!world_.is_main()) return all;
  for (const auto& item : model_.named_parameters())
    all.push_back({item.key(), whole.at(item.value().unsafeGetTensorImpl())});
  for (const auto& item : model_.named_buffers()) all.push_back({item.key(), item.value()});
  return all;
}

State ShardedWeights::save() const {
  const torch::NoGradGuard no_grad;
  const ShardingOptions::Copy set_aside =
      parameters_.options().set_aside ? parameters_.options().set_aside : in_main_memory;
  std::map<const torch::TensorImpl*, torch::Tensor> own;
  for (std::size_t i = 0; i < parameters_.units().size(); ++i) {
    const ShardedUnit& unit = *parameters_.units()[i];
    const torch::Tensor values = unit.gather_weights();
    if (parameters_.writer_of(i) != world_.rank()) continue;
    for (std::size_t p = 0; p < unit.parameters().size(); ++p)
      own[unit.parameters()[p].tensor.unsafeGetTensorImpl()] =
          set_aside(unit.layout().parameter_in(values, p));
  }
  State state;
  for (const auto& item : model_.named_parameters())  // one parameter may have two names
    if (const auto found = own.find(item.value().unsafeGetTensorImpl()); found != own.end())
      state.tensors[item.key()] = found->second;
  if (world_.is_main())
    for (const auto& item : model_.named_buffers()) state.tensors[item.key()] = item.value();
  if (model_.adaptation) {
    std::erase_if(state.tensors,
                  [&](const auto& entry) { return model_.adaptation->base.contains(entry.first); });
    if (world_.is_main()) state.texts["base"] = model_.adaptation->base_checksum;
  }
  return state;
}

State WeightsOnOneRank::save() const {
  State state;
  const Adaptation* adaptation = weights_.adaptation();
  for (const auto& [name, tensor] : weights_.all())
    if (!adaptation || !adaptation->base.contains(name)) state.tensors[name] = tensor;
  if (adaptation) state.texts["base"] = adaptation->base_checksum;
  return state;
}

void ShardedWeights::load(const State& state) {
  const torch::NoGradGuard no_grad;
  StateReader saved(state);
  const Adaptation* adaptation = model_.adaptation.get();
  if (adaptation) require_same_base(*adaptation, saved.text("base"));
  for (const auto& item : model_.named_parameters()) {
    if (adaptation && adaptation->base.contains(item.key())) continue;
    const torch::Tensor& whole = saved.tensor(item.key());
    if (whole.sizes() != item.value().sizes())
      throw StateError("the saved state has " + in_quotes(item.key()) + " in the shape " +
                       shape_text(whole.sizes()) + ", but here it is " + shape_text(item.value().sizes()));
    const auto [unit, index] = parameters_.place_of(item.value());
    torch::Tensor(parameters_.slice_of(item.value()))
        .copy_(parameters_.units()[unit]->own_slice(whole, index));
  }
  for (const auto& item : model_.named_buffers()) saved.tensor_into(item.key(), item.value());
  saved.finish();
}

}  // namespace runner
