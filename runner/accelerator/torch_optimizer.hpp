#pragma once

#include <torch/optim/optimizer.h>

#include <functional>
#include <string>

#include "components/optimizers/optimizer.hpp"

namespace runner {

// A LibTorch optimizer behind runner's contract. Its state is read from what it saves itself, and so works
// for each of them; it is kept by the names of the parameters, and with the learning rate of each group.
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
