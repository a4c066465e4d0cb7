// The small network that tests/parity/precisions_reference.py trains, and the loop around it.
#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <vector>

#include "components/models/model.hpp"
#include "components/precisions/precision.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {

constexpr int training_steps = 20;
constexpr std::int64_t rows = 32, inputs = 16, hidden = 32, outputs = 16;

class SmallNet final : public Model {
 public:
  SmallNet() {
    const torch::NoGradGuard no_grad;
    fc1->weight.copy_(0.3 * wave({hidden, inputs}, 0.1));
    fc1->bias.copy_(0.1 * wave({hidden}, 0.2));
    fc2->weight.copy_(0.3 * wave({outputs, hidden}, 0.3));
    fc2->bias.copy_(0.1 * wave({outputs}, 0.4));
  }
  torch::Tensor forward(const Batch& batch) override { return fc2(fc1(batch.input).relu()); }

  torch::nn::Linear fc1{register_module("fc1", torch::nn::Linear(inputs, hidden))};
  torch::nn::Linear fc2{register_module("fc2", torch::nn::Linear(hidden, outputs))};
};

inline std::vector<torch::Tensor> gradients(Model& model) {
  std::vector<torch::Tensor> list;
  for (const torch::Tensor& parameter : model.parameters()) list.push_back(parameter.grad());
  return list;
}

struct Training {
  std::vector<double> losses;
  int skipped = 0;
};

// Plain SGD at 0.2, in the order in which the engine calls a precision.
inline Training train(Model& model, Precision& precision, int begin = 0, int end = training_steps) {
  Training result;
  for (int step = begin; step < end; ++step) {
    const Batch batch{wave({rows, inputs}, 3.0 + step), (torch::arange(rows) + step).remainder(outputs)};
    model.zero_grad();
    torch::Tensor loss;
    {
      const auto scope = precision.forward();
      loss = torch::nn::functional::cross_entropy(model.forward(batch), batch.target);
    }
    precision.scale(loss).backward();
    if (precision.unscale(gradients(model))) {
      const torch::NoGradGuard no_grad;
      for (torch::Tensor& parameter : model.parameters()) parameter.sub_(parameter.grad(), 0.2);
    } else {
      ++result.skipped;
    }
    result.losses.push_back(loss.item<double>());
  }
  return result;
}

inline torch::Tensor all_weights(const Model& model) {
  std::vector<torch::Tensor> flat;
  for (const torch::Tensor& parameter : model.parameters()) flat.push_back(parameter.detach().flatten());
  return torch::cat(flat).to(torch::kFloat64);
}

}  // namespace runner::testing
