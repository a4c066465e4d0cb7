#pragma once

#include <torch/types.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace runner {

// The source of the initial parameters of a model that will be sharded across ranks. Only with From::model do
// the model's own tensors need memory.
struct ParameterValues {
  enum class From {
    model,       // the model of rank 0
    rank_0,      // `tensors` of rank 0
    every_rank,  // `tensors`, which every rank has, such as those of a mapped file: each reads what it keeps
    nowhere,     // zeros: a checkpoint will be loaded
  };

  From from = From::model;
  std::map<std::string, torch::Tensor> tensors = {};         // by the parameter's name
  std::function<void(const torch::Tensor&)> give_back = {};  // releases the memory of a tensor that was read

  bool in_model() const { return from == From::model; }

  // Each tensor is read once and then dropped, so that its memory can be freed.
  template <class Read>
  void take(const std::string& name, const Read& read) {
    const auto taken = tensors.extract(name);
    if (taken.empty()) throw std::logic_error("there is no value for the parameter " + name);
    read(taken.mapped());
    if (give_back) give_back(taken.mapped());
  }
};

}  // namespace runner
