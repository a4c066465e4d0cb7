#include "components/models/weights/model_weights.hpp"

#include <set>

#include "components/models/model.hpp"

namespace runner {

std::vector<NamedTensor> each_once(const torch::OrderedDict<std::string, torch::Tensor>& tensors) {
  std::vector<NamedTensor> all;
  std::set<const torch::TensorImpl*> seen;
  for (const auto& item : tensors)
    if (seen.insert(item.value().unsafeGetTensorImpl()).second) all.push_back({item.key(), item.value()});
  return all;
}

std::vector<NamedTensor> ModelWeights::held_parameters() const {
  return each_once(model_.named_parameters());
}
std::vector<NamedTensor> ModelWeights::held_buffers() const { return each_once(model_.named_buffers()); }

std::vector<NamedTensor> ModelWeights::all() const {
  std::vector<NamedTensor> all;
  for (const auto& tensors : {model_.named_parameters(), model_.named_buffers()})
    for (const auto& item : tensors) all.push_back({item.key(), item.value()});
  return all;
}

void ModelWeights::visit(const Visit& visit) const {
  for (const auto& [name, parameter] : held_parameters()) visit(name, parameter.detach(), parameter.grad());
}

std::vector<std::string> ModelWeights::parameter_names() const {
  std::vector<std::string> names;
  for (const NamedTensor& parameter : held_parameters()) names.push_back(parameter.name);
  return names;
}

State ModelWeights::save() const {
  State state;
  const Adaptation* adaptation = adaptation_of(model_);
  for (const auto& [name, tensor] : all())
    if (!adaptation || !adaptation->base.contains(name)) state.tensors[name] = tensor;
  if (adaptation) state.texts["base"] = adaptation->base_checksum;
  return state;
}

void ModelWeights::load(const State& state) {
  StateReader saved(state);
  const Adaptation* adaptation = adaptation_of(model_);
  for (const auto& [name, tensor] : all())
    if (!adaptation || !adaptation->base.contains(name)) saved.tensor_into(name, tensor);
  if (adaptation) require_same_base(*adaptation, saved.text("base"));
  saved.finish();
}

const Adaptation* adaptation_of(const torch::nn::Module& module) {
  const auto* model = dynamic_cast<const Model*>(&module);
  return model ? model->adaptation.get() : nullptr;
}

void require_same_base(const Adaptation& adaptation, const std::string& saved) {
  if (!saved.empty() && !adaptation.base_checksum.empty() && saved != adaptation.base_checksum)
    throw StateError(
        "the weights that model.weights names are not those that the adapter was trained with: they have "
        "changed since");
}

bool ModelWeights::trained(const std::string& name) const {
  const auto parameters = model_.named_parameters();  // must outlive the pointer below
  const torch::Tensor* parameter = parameters.find(name);
  return parameter && parameter->requires_grad();
}

}  // namespace runner
