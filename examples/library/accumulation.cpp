// Gradient accumulation: four micro-batches make one update, and the fewer at the end of an epoch count for
// what they are. With a LibTorch data loader.
//   example_accumulation [RANKS]
#include <torch/data.h>
#include <torch/nn.h>
#include <torch/optim/schedulers/step_lr.h>
#include <torch/optim/sgd.h>

#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/launch.hpp"

using namespace runner;

// Points on a plane that is to be found.
struct PlanePoints : torch::data::datasets::Dataset<PlanePoints> {
  torch::data::Example<> get(std::size_t index) override {
    const torch::Tensor input = torch::sin(torch::arange(3.0f) + static_cast<float>(index));
    return {input, (input * torch::tensor({1.0f, -2.0f, 0.5f})).sum().reshape({1}) + 3};
  }
  std::optional<std::size_t> size() const override { return 100; }
};

int main(int argc, char** argv) {
  return launch(
      [](World& world) {
        constexpr std::int64_t micro_batches = 4;
        Accelerator accelerator(world, {.accumulation_steps = micro_batches});
        torch::manual_seed(1);
        torch::nn::Linear plain_model(3, 1);
        torch::optim::SGD sgd(plain_model->parameters(), torch::optim::SGDOptions(0.2).momentum(0.5));
        torch::optim::StepLR step_lr(sgd, /*step_size=*/20, /*gamma=*/0.5);
        auto [model, optimizer, scheduler, loader] =
            accelerator.prepare(plain_model, sgd, step_lr,
                                torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
                                    PlanePoints().map(torch::data::transforms::Stack<>()), /*batch_size=*/6));

        int updates = 0;
        torch::Tensor loss;
        for (int epoch = 0; epoch < 10; ++epoch) {
          for (auto& batch : loader) {
            const auto accumulating = accelerator.accumulate();
            loss = torch::mse_loss(model->forward(batch.data), batch.target);
            accelerator.backward(loss);
            optimizer.step();  // these three do something with the last micro-batch of an update only
            scheduler.step();
            optimizer.zero_grad();
            if (accelerator.sync_gradients()) ++updates;
          }
        }
        accelerator.print(updates, " updates, loss ", accelerator.reduce(loss).item<double>());
      },
      argc > 1 ? std::stoi(argv[1]) : 1);
}
