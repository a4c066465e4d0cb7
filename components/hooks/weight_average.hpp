#pragma once

#include <torch/types.h>

#include <map>
#include <string>
#include <vector>

#include "components/contract/state.hpp"
#include "components/contract/weights.hpp"

namespace runner {

// An average over the run of the weights that this rank holds. Integer buffers, such as counts of batches,
// are copied, not averaged.
class WeightAverage {
 public:
  enum class Buffers { included, left_out };

  WeightAverage(const Weights& weights, Buffers buffers);  // starts as a copy of the weights

  void approach(double share);  // moves the average by this share of its distance to the weights

  const std::map<std::string, torch::Tensor>& tensors() const { return tensors_; }
  void load(const State& state);  // a state of tensors only

 private:
  void follow(const NamedTensor& weights);

  std::map<std::string, torch::Tensor> tensors_;
  std::vector<torch::Tensor> weights_, averages_;  // in the same order
  std::vector<torch::Tensor> counts_, copies_;     // integers: copied
};

}  // namespace runner
