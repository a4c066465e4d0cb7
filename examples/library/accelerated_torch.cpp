// plain_torch.cpp with ten lines changed (*): on any device, in bf16, on any number of ranks.
//   example_accelerated_torch, or: mpirun -n 2 example_accelerated_torch
#include <torch/data.h>
#include <torch/nn.h>
#include <torch/optim/sgd.h>

#include <cmath>

#include "runner/accelerator/accelerator.hpp"  // *

struct Spirals : torch::data::datasets::Dataset<Spirals> {
  torch::data::Example<> get(std::size_t index) override {
    const float turn = 0.05f * static_cast<float>(index / 2), side = index % 2 == 0 ? 1.0f : -1.0f;
    return {torch::tensor({side * turn * std::cos(turn), side * turn * std::sin(turn)}),
            torch::tensor(static_cast<std::int64_t>(index % 2))};
  }
  std::optional<std::size_t> size() const override { return 150; }
};

int main() {
  runner::Accelerator accelerator({.precision = {"bf16"}});  // *
  torch::manual_seed(1);
  torch::nn::Sequential model(torch::nn::Linear(2, 32), torch::nn::Tanh(), torch::nn::Linear(32, 2));
  torch::optim::SGD sgd(model->parameters(), torch::optim::SGDOptions(0.3).momentum(0.9));  // *
  auto batches = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(       // *
      Spirals().map(torch::data::transforms::Stack<>()), /*batch_size=*/16);
  auto [prepared, optimizer, loader] = accelerator.prepare(model, sgd, std::move(batches));  // *

  for (int epoch = 0; epoch < 40; ++epoch) {
    double correct = 0, count = 0;
    for (auto& batch : loader) {               // *
      auto autocast = accelerator.autocast();  // *
      torch::Tensor output = model->forward(batch.data);
      torch::Tensor loss = torch::cross_entropy_loss(output, batch.target);
      optimizer.zero_grad();
      accelerator.backward(loss);  // *
      optimizer.step();
      torch::Tensor right = accelerator.gather_for_metrics(output.argmax(1).eq(batch.target));  // *
      correct += right.sum().item<double>();
      count += static_cast<double>(right.size(0));
    }
    if (epoch % 10 == 9) accelerator.print("epoch ", epoch, ": ", correct, " of ", count);  // *
  }
}
