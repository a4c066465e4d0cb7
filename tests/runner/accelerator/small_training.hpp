// A training that is small enough to be computed again in plain LibTorch.
#pragma once

#include <torch/data.h>
#include <torch/nn.h>

#include <atomic>

namespace runner::testing {

using Random = torch::data::samplers::RandomSampler;
using Sequential = torch::data::samplers::SequentialSampler;

// The first number of an example is its index.
struct Numbers : torch::data::datasets::Dataset<Numbers> {
  static inline std::atomic<int> read = 0;  // examples, by all of them

  explicit Numbers(std::size_t count_) : count(count_) {}
  torch::data::Example<> get(std::size_t index) override {
    ++read;
    const auto number = static_cast<float>(index);
    const torch::Tensor input = torch::tensor({number, std::sin(number), std::cos(number)});
    return {input, input.narrow(0, 1, 2).sum().reshape({1})};
  }
  std::optional<std::size_t> size() const override { return count; }
  std::size_t count;
};

template <class Sampler>
auto loader_of(std::size_t count, std::size_t batch_size) {
  return torch::data::make_data_loader<Sampler>(Numbers(count).map(torch::data::transforms::Stack<>()),
                                                batch_size);
}

inline torch::nn::Linear model_of_test() {
  torch::nn::Linear model(3, 1);
  const torch::NoGradGuard no_grad;
  model->weight.copy_(torch::tensor({{0.01f, 0.5f, -0.5f}}));
  model->bias.zero_();
  return model;
}

inline torch::Tensor loss_of(torch::nn::Linear& model, const torch::data::Example<>& batch) {
  return torch::mse_loss(model(batch.data * torch::tensor({0.01f, 1.0f, 1.0f})), batch.target);
}

inline torch::Tensor weights_of(const torch::nn::Module& model) {
  return torch::nn::utils::parameters_to_vector(model.parameters()).detach().clone();
}

}  // namespace runner::testing
