#include "components/models/support/model_weights.hpp"

namespace runner {

namespace {

std::vector<NamedTensor> listed(const torch::OrderedDict<std::string, torch::Tensor>& tensors) {
  std::vector<NamedTensor> all;
  for (const auto& item : tensors) all.push_back({item.key(), item.value()});
  return all;
}

}  // namespace

std::vector<NamedTensor> ModelWeights::held_parameters() const { return listed(model_.named_parameters()); }
std::vector<NamedTensor> ModelWeights::held_buffers() const { return listed(model_.named_buffers()); }

std::vector<NamedTensor> ModelWeights::all() const {
  std::vector<NamedTensor> all = held_parameters();
  for (NamedTensor& buffer : held_buffers()) all.push_back(std::move(buffer));
  return all;
}

void ModelWeights::visit(const Visit& visit) const {
  for (const auto& item : model_.named_parameters())
    visit(item.key(), item.value().detach(), item.value().grad());
}

std::vector<std::string> ModelWeights::parameter_names() const { return model_.named_parameters().keys(); }

State ModelWeights::save() const {
  State state;
  for (const auto& [name, tensor] : held_parameters()) state.tensors[name] = tensor;
  for (const auto& [name, tensor] : held_buffers()) state.tensors[name] = tensor;
  return state;
}

void ModelWeights::load(const State& state) {
  StateReader saved(state);
  for (const auto& [name, tensor] : held_parameters()) saved.tensor_into(name, tensor);
  for (const auto& [name, tensor] : held_buffers()) saved.tensor_into(name, tensor);
  saved.finish();
}

bool ModelWeights::trained(const std::string& name) const {
  const auto parameters = model_.named_parameters();  // must outlive the pointer below
  const torch::Tensor* parameter = parameters.find(name);
  return parameter && parameter->requires_grad();
}

}  // namespace runner
