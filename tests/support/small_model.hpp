// A model of a few numbers that a test can work out by hand.
#pragma once

#include <torch/types.h>

#include <vector>

#include "components/models/model.hpp"
#include "components/models/weights/model_weights.hpp"

namespace runner::testing {

// weight * input, example by example; a running count and a float buffer, as batch-norm has.
class SmallModel : public Model {
 public:
  explicit SmallModel(std::vector<float> values) {
    weight = register_parameter("weight", torch::tensor(values));
    bias = register_parameter("bias", torch::zeros({1}));
    mean = register_buffer("mean", torch::zeros({1}));
    count = register_buffer("count", torch::zeros({}, torch::kInt64));
  }

  torch::Tensor forward(const Batch& batch) override { return batch.input * weight + bias; }

  void set(std::vector<float> values) {
    const torch::NoGradGuard no_grad;
    weight.copy_(torch::tensor(values));
  }

  torch::Tensor weight, bias, mean, count;
  ModelWeights weights{*this};  // as hooks see them
};

}  // namespace runner::testing
