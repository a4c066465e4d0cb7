#pragma once

#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "components/contract/weights.hpp"

namespace runner {

// Tensors with copies of their values, to restore them later.
class SavedTensors {
 public:
  void add(const torch::Tensor& tensor) { saved_.emplace_back(tensor, tensor.detach().clone()); }
  void add(const std::vector<NamedTensor>& tensors) {
    for (const NamedTensor& each : tensors) add(each.tensor);
  }
  void restore() {
    const torch::NoGradGuard no_grad;
    for (auto& [tensor, values] : saved_) tensor.copy_(values);
  }

 private:
  std::vector<std::pair<torch::Tensor, torch::Tensor>> saved_;
};

// While this object exists, the weights with these names have other values. The destructor restores them, and
// all buffers, because a pass in training mode changes these.
class SwappedWeights {
 public:
  SwappedWeights(const Weights& held, const std::map<std::string, torch::Tensor>& values) {
    const torch::NoGradGuard no_grad;
    own_.add(held.held_buffers());
    for (const NamedTensor& parameter : held.held_parameters())
      if (values.contains(parameter.name)) own_.add(parameter.tensor);
    for (const auto& all : {held.held_parameters(), held.held_buffers()})
      for (const NamedTensor& each : all)
        if (const auto value = values.find(each.name); value != values.end())
          each.tensor.copy_(value->second);
  }
  ~SwappedWeights() { own_.restore(); }
  SwappedWeights(const SwappedWeights&) = delete;
  SwappedWeights& operator=(const SwappedWeights&) = delete;

 private:
  SavedTensors own_;
};

}  // namespace runner
