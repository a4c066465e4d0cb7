// Builds a model as a recipe would and passes one batch through it, for tests that compare it with Python's.
//   model_pass REQUEST.json
//   {"model": {"name": "resnet18", ..}, "data": {"input_shape": [3, 32, 32], "classes": 10}, "seed": 0,
//   "train": true, "input": "in.safetensors", "output": "out.safetensors"}
// "data" may have "vocabulary" (inputs are tokens), "target_shape" and "categories" too. The input file holds
// "input", "target" and "extra/NAME" as the batch does and, for a backward pass, "grad_output". The output
// file holds "initial/NAME" for all parameters and buffers, and then "output", "grad/NAME" and "after/NAME".
// With "steps": 10, "lr": 0.1 the model is trained on that batch by SGD with momentum, with the seed 100 +
// step; then there are "losses", "seconds" (of each step) and, in evaluation mode, "output" as well.
#include <torch/nn/functional/loss.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "components/models/model.hpp"
#include "components/models/weights/load_weights.hpp"
#include "components/models/weights/model_weights.hpp"
#include "components/weights/safetensors.hpp"
#include "tests/support/parts.hpp"

namespace runner {
namespace {

using Json = nlohmann::json;
using Tensors = std::vector<std::pair<std::string, torch::Tensor>>;

Value value_of(const Json& json) {
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_integer()) return Value(json.get<std::int64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_string()) return Value(json.get<std::string>());
  if (json.is_object()) {
    Table table;
    for (const auto& [key, item] : json.items()) table.set(key, value_of(item));
    return Value(Value::Data(std::move(table)));
  }
  Array array;
  for (const Json& item : json) array.push_back(value_of(item));
  return Value(std::move(array));
}

void add_all(Tensors& tensors, const std::string& prefix, const Model& model) {
  for (const auto& item : model.named_parameters())
    tensors.emplace_back(prefix + item.key(), item.value().detach().clone());
  for (const auto& item : model.named_buffers())
    tensors.emplace_back(prefix + item.key(), item.value().clone());
}

Batch batch_of(const std::map<std::string, torch::Tensor>& in) {
  const std::string extra = "extra/";
  Batch batch{.input = in.at("input")};
  if (in.contains("target")) batch.target = in.at("target");
  for (const auto& [name, tensor] : in) {
    if (name.starts_with(extra)) batch.extra[name.substr(extra.size())] = tensor;
  }
  return batch;
}

// Classes per example, per position of a text or per pixel; numbers; without a target, small outputs.
torch::Tensor loss_of(const torch::Tensor& output, const torch::Tensor& target) {
  namespace F = torch::nn::functional;
  if (!target.defined()) return output.square().mean();
  if (target.is_floating_point()) return F::mse_loss(output, target);
  if (output.dim() != 3) return F::cross_entropy(output, target);
  return F::cross_entropy(output.reshape({-1, output.size(-1)}), target.reshape({-1}));
}

void train(Model& model, const Json& request, const std::map<std::string, torch::Tensor>& in, Tensors& out) {
  const Batch batch = batch_of(in);
  std::vector<torch::Tensor> parameters;
  for (const NamedTensor& parameter : each_once(model.named_parameters()))
    if (parameter.tensor.requires_grad()) parameters.push_back(parameter.tensor);
  torch::optim::SGD optimizer(parameters,
                              torch::optim::SGDOptions(request.at("lr").get<double>()).momentum(0.9));
  std::vector<double> losses, seconds;
  for (int step = 0; step < request.at("steps").get<int>(); ++step) {
    const auto began = std::chrono::steady_clock::now();
    torch::manual_seed(100 + step);
    optimizer.zero_grad();
    const torch::Tensor loss = loss_of(model.forward(batch), batch.target);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  out.emplace_back("losses", torch::tensor(losses, torch::kFloat64));
  out.emplace_back("seconds", torch::tensor(seconds, torch::kFloat64));
  model.eval();
  const torch::NoGradGuard no_grad;
  out.emplace_back("output", model.forward(batch).contiguous());
}

void run(const Json& request) {
  testing::Settings settings;
  for (const auto& [key, value] : request.at("model").items()) {
    if (key != "name") settings.emplace_back(key, value_of(value));
  }
  ModelInputs inputs;
  inputs.data.input_shape = request.at("data").at("input_shape").get<std::vector<std::int64_t>>();
  inputs.data.classes = request.at("data").value("classes", 0);
  inputs.data.vocabulary = request.at("data").value("vocabulary", 0);
  if (inputs.data.vocabulary > 0) inputs.data.input_type = torch::kInt64;
  torch::set_num_threads(request.value("threads", torch::get_num_threads()));
  inputs.data.target_shape = request.at("data").value("target_shape", std::vector<std::int64_t>{});
  inputs.data.categories = request.at("data").value("categories", std::vector<std::int64_t>{});
  torch::manual_seed(request.value("seed", 0));
  const auto part = testing::part<ModelKind>(request.at("model").at("name"), settings);
  const auto model = build_structure(part, inputs.data);
  if (const auto summary = apply_common(*model, part.common)) std::cout << summary->text() << '\n';

  Tensors out;
  add_all(out, "initial/", *model);
  if (request.contains("steps")) {
    train(*model, request, read_safetensors(request.at("input").get<std::string>()), out);
    add_all(out, "after/", *model);
  } else if (request.contains("input")) {
    model->train(request.value("train", false));
    auto in = read_safetensors(request.at("input").get<std::string>());
    const auto output = model->forward(batch_of(in));
    out.emplace_back("output", output.detach());
    if (in.contains("grad_output")) {
      output.backward(in.at("grad_output"));
      for (const auto& item : model->named_parameters()) {
        if (item.value().grad().defined()) out.emplace_back("grad/" + item.key(), item.value().grad());
      }
    }
    add_all(out, "after/", *model);
  }
  write_safetensors(request.at("output").get<std::string>(), out);
}

}  // namespace
}  // namespace runner

int main(int count, char** arguments) try {
  if (count != 2) throw std::invalid_argument("usage: model_pass REQUEST.json");
  runner::run(nlohmann::json::parse(std::ifstream(arguments[1])));
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
