#pragma once

#include <torch/optim/optimizer.h>

#include <functional>
#include <string>

#include "components/optimizers/optimizer.hpp"

namespace runner {

// Adapts a LibTorch optimizer to runner's contract. Its state is taken from what it serializes, which works
// for all of them; it is saved under the names of the parameters, with the learning rate of each group.
class TorchOptimizer final : public Optimizer {
 public:
  using NameOf = std::function<std::string(const torch::Tensor& parameter)>;

  TorchOptimizer(torch::optim::Optimizer& optimizer, NameOf name_of)
      : optimizer_(optimizer), name_of_(std::move(name_of)) {}

  double peak_lr() const override;  // of the first group
  void step(double lr_factor) override;

  State save() const override;
  void load(const State& state) override;

 private:
  torch::optim::Optimizer& optimizer_;
  NameOf name_of_;
};

}  // namespace runner
