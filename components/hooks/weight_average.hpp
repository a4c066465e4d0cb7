#pragma once

#include <torch/types.h>

#include <map>
#include <string>
#include <vector>

#include "components/models/model.hpp"

namespace runner {

// An average of a model's weights over the run, where the weights are. Whole numbers among the buffers, such
// as counts of batches, are taken as they are.
class WeightAverage {
 public:
  enum class Buffers { included, left_out };

  WeightAverage(const Model& model,
                Buffers buffers);  // begins as a copy of the weights

  void approach(double share);  // goes that share of the way from the average to
                                // the weights

  const std::map<std::string, torch::Tensor>& tensors() const { return tensors_; }
  void load(
      const std::map<std::string, torch::Tensor>& saved);  // throws where a tensor is missing or another

 private:
  void follow(const std::string& name, const torch::Tensor& weights);

  std::map<std::string, torch::Tensor> tensors_;
  std::vector<torch::Tensor> weights_, averages_;  // of the same order
  std::vector<torch::Tensor> counts_, copies_;     // not averaged
};

}  // namespace runner
