#pragma once

#include <torch/types.h>

#include <map>
#include <string>
#include <vector>

#include "components/contract/state.hpp"
#include "components/contract/weights.hpp"

namespace runner {

// An average of the weights that this rank holds, over the run. Whole numbers among the buffers, such as
// counts of batches, are taken as they are.
class WeightAverage {
 public:
  enum class Buffers { included, left_out };

  WeightAverage(const Weights& weights, Buffers buffers);  // begins as a copy of the weights

  void approach(double share);  // goes that share of the way from the average to the weights

  const std::map<std::string, torch::Tensor>& tensors() const { return tensors_; }
  void load(const State& state);  // of tensors alone

 private:
  void follow(const NamedTensor& weights);

  std::map<std::string, torch::Tensor> tensors_;
  std::vector<torch::Tensor> weights_, averages_;  // of the same order
  std::vector<torch::Tensor> counts_, copies_;     // not averaged
};

}  // namespace runner
