// A training program as LibTorch's documentation writes it. accelerated_torch.cpp is the same with ten lines
// changed.
#include <torch/data.h>
#include <torch/nn.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <iostream>

struct Spirals : torch::data::datasets::Dataset<Spirals> {
  torch::data::Example<> get(std::size_t index) override {
    const float turn = 0.05f * static_cast<float>(index / 2), side = index % 2 == 0 ? 1.0f : -1.0f;
    return {torch::tensor({side * turn * std::cos(turn), side * turn * std::sin(turn)}),
            torch::tensor(static_cast<std::int64_t>(index % 2))};
  }
  std::optional<std::size_t> size() const override { return 150; }
};

int main() {
  torch::manual_seed(1);
  torch::nn::Sequential model(torch::nn::Linear(2, 32), torch::nn::Tanh(), torch::nn::Linear(32, 2));
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.3).momentum(0.9));
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      Spirals().map(torch::data::transforms::Stack<>()), /*batch_size=*/16);

  for (int epoch = 0; epoch < 40; ++epoch) {
    double correct = 0, count = 0;
    for (auto& batch : *loader) {
      torch::Tensor output = model->forward(batch.data);
      torch::Tensor loss = torch::cross_entropy_loss(output, batch.target);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      torch::Tensor right = output.argmax(1).eq(batch.target);
      correct += right.sum().item<double>();
      count += static_cast<double>(right.size(0));
    }
    if (epoch % 10 == 9) std::cout << "epoch " << epoch << ": " << correct << " of " << count << std::endl;
  }
}
