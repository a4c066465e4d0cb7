#include "runner/accelerator/torch_optimizer.hpp"

#include <torch/serialize/archive.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <sstream>

#include "registry/base/wording.hpp"

namespace runner {

namespace {

using Input = torch::serialize::InputArchive;
using Output = torch::serialize::OutputArchive;

Input read_back(Output& written) {
  std::stringstream bytes;
  written.save_to(bytes);
  Input archive;
  archive.load_from(bytes);
  return archive;
}

void copy(Input& from, Output& to) {
  for (const std::string& key : from.keys()) {
    Input nested;
    if (from.try_read(key, nested)) {
      Output copied(to.compilation_unit());
      copy(nested, copied);
      to.write(key, copied);
    } else {
      torch::IValue value;
      from.read(key, value);
      to.write(key, value);
    }
  }
}

// The key of a parameter in LibTorch's archives.
std::string archive_key(const torch::Tensor& parameter) {
  return std::to_string(reinterpret_cast<std::size_t>(parameter.unsafeGetTensorImpl()));
}

void put(State& state, const std::string& name, const torch::IValue& value) {
  if (value.isTensor()) {
    state.tensors[name] = value.toTensor();
  } else if (value.isInt()) {
    state.integers[name] = value.toInt();
  } else if (value.isDouble()) {
    state.numbers[name] = value.toDouble();
  } else if (!value.isNone()) {
    throw StateError(in_quotes(name) + " is neither a tensor nor a number and cannot be saved");
  }
}

std::string group_key(std::size_t group) { return "group." + std::to_string(group) + ".lr"; }

}  // namespace

std::vector<torch::Tensor> parameters_of(const torch::optim::Optimizer& optimizer) {
  std::vector<torch::Tensor> parameters;
  for (const auto& group : optimizer.param_groups())
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  return parameters;
}

double TorchOptimizer::peak_lr() const { return optimizer_.param_groups().front().options().get_lr(); }

void TorchOptimizer::step(double lr_factor) {
  if (lr_factor == 1) {  // a LibTorch scheduler sets the rate itself
    optimizer_.step();
    return;
  }
  std::vector<double> rates;
  for (auto& group : optimizer_.param_groups()) {
    rates.push_back(group.options().get_lr());
    group.options().set_lr(rates.back() * lr_factor);
  }
  optimizer_.step();
  for (std::size_t i = 0; i < rates.size(); ++i) optimizer_.param_groups()[i].options().set_lr(rates[i]);
}

State TorchOptimizer::save() const {
  Output written;
  optimizer_.save(written);
  Input archive = read_back(written), states;
  archive.read("state", states);
  const Names names = names_of_(parameters_of(optimizer_));
  State state;
  for (std::size_t group = 0; group < optimizer_.param_groups().size(); ++group) {
    state.numbers[group_key(group)] = optimizer_.param_groups()[group].options().get_lr();
    for (const torch::Tensor& parameter : optimizer_.param_groups()[group].params()) {
      Input slots;
      if (!states.try_read(archive_key(parameter), slots)) continue;
      const std::string& name = names.at(parameter.unsafeGetTensorImpl());
      for (const std::string& slot : slots.keys()) {
        torch::IValue value;
        slots.read(slot, value);
        put(state, name + "." + slot, value);
      }
    }
  }
  return state;
}

void TorchOptimizer::load(const State& state) {
  StateReader saved(state);
  std::map<std::string, std::vector<std::pair<std::string, torch::IValue>>> slots;  // by parameter
  const auto add = [&](const std::string& name, torch::IValue value) {
    slots[name.substr(0, name.rfind('.'))].emplace_back(name.substr(name.rfind('.') + 1), std::move(value));
  };
  for (const auto& [name, tensor] : state.tensors) add(name, saved.tensor(name).clone());
  for (const auto& [name, integer] : state.integers) add(name, saved.integer(name));
  std::vector<double> rates;
  std::map<std::string, double> numbers = state.numbers;
  for (std::size_t group = 0; group < optimizer_.param_groups().size(); ++group) {
    rates.push_back(saved.number(group_key(group)));
    numbers.erase(group_key(group));
  }
  for (const auto& [name, number] : numbers) add(name, saved.number(name));

  Output written, rebuilt;
  optimizer_.save(written);
  Input current = read_back(written), groups;
  current.read("param_groups", groups);
  const Names names = names_of_(parameters_of(optimizer_));
  Output states(rebuilt.compilation_unit()), groups_as_they_are(rebuilt.compilation_unit());
  for (std::size_t group = 0; group < optimizer_.param_groups().size(); ++group) {
    for (const torch::Tensor& parameter : optimizer_.param_groups()[group].params()) {
      const auto own = slots.find(names.at(parameter.unsafeGetTensorImpl()));
      if (own == slots.end()) continue;
      Output archive(rebuilt.compilation_unit());
      for (const auto& [slot, value] : own->second)
        archive.write(slot,
                      value.isTensor() ? torch::IValue(value.toTensor().to(parameter.device())) : value);
      states.write(archive_key(parameter), archive);
      slots.erase(own);
    }
  }
  saved.finish();
  if (!slots.empty())
    throw StateError("it belongs to another optimizer: this one has no parameter " +
                     in_quotes(slots.begin()->first));
  copy(groups, groups_as_they_are);
  rebuilt.write("pytorch_version", torch::IValue("1.5.0"));
  rebuilt.write("state", states);
  rebuilt.write("param_groups", groups_as_they_are);
  Input archive = read_back(rebuilt);
  optimizer_.state().clear();  // load() keeps the state of parameters that have none in the archive
  optimizer_.load(archive);
  for (std::size_t i = 0; i < rates.size(); ++i) optimizer_.param_groups()[i].options().set_lr(rates[i]);
}

}  // namespace runner
