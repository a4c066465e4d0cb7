#include "components/models/weights/model_weights.hpp"

#include <set>

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
  for (const auto& [name, tensor] : all()) state.tensors[name] = tensor;
  return state;
}

void ModelWeights::load(const State& state) {
  StateReader saved(state);
  for (const auto& [name, tensor] : all()) saved.tensor_into(name, tensor);
  saved.finish();
}

bool ModelWeights::trained(const std::string& name) const {
  const auto parameters = model_.named_parameters();  // must outlive the pointer below
  const torch::Tensor* parameter = parameters.find(name);
  return parameter && parameter->requires_grad();
}

}  // namespace runner
