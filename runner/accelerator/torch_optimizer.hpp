#pragma once

#include <torch/optim/optimizer.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "components/optimizers/optimizer.hpp"

namespace runner {

std::vector<torch::Tensor> parameters_of(const torch::optim::Optimizer& optimizer);  // of all groups

// Adapts a LibTorch optimizer to runner's contract. Its state is read from its serialized form, which works
// for all optimizers; it is saved under the names of the parameters, with the learning rate of each group.
class TorchOptimizer final : public Optimizer {
 public:
  using Names = std::map<const void*, std::string>;  // by the address of the parameter's TensorImpl
  using NamesOf = std::function<Names(const std::vector<torch::Tensor>& parameters)>;

  TorchOptimizer(torch::optim::Optimizer& optimizer, NamesOf names_of)
      : optimizer_(optimizer), names_of_(std::move(names_of)) {}

  double peak_lr() const override;  // of the first group
  void step(double lr_factor) override;

  State save() const override;
  void load(const State& state) override;

 private:
  torch::optim::Optimizer& optimizer_;
  NamesOf names_of_;
};

}  // namespace runner
