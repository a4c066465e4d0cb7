// SimpleCNN on CIFAR-10 in fp16: a LibTorch module and optimizer, and a runner dataset.
//   example_simple_cnn_fp16 [RANKS] [FOLDER WITH CIFAR-10] [EXAMPLES]
// Without the data, drawn shapes stand in.
#include <torch/nn.h>
#include <torch/optim/adam.h>

#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/launch.hpp"

using namespace runner;

struct SimpleCnnImpl : torch::nn::Module {
  SimpleCnnImpl(std::int64_t channels, std::int64_t size, std::int64_t classes)
      : conv1(register_module("conv1", convolution(channels, 16))),
        conv2(register_module("conv2", convolution(16, 32))),
        fc1(register_module("fc1", torch::nn::Linear(32 * (size / 4) * (size / 4), 256))),
        fc2(register_module("fc2", torch::nn::Linear(256, classes))) {}

  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(conv1(x)), 2);
    x = torch::max_pool2d(torch::relu(conv2(x)), 2);
    return fc2(torch::relu(fc1(x.flatten(1))));
  }

  static torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1));
  }

  torch::nn::Conv2d conv1, conv2;
  torch::nn::Linear fc1, fc2;
};
TORCH_MODULE(SimpleCnn);

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::stoi(argv[1]) : 1;
  const std::string folder = argc > 2 ? argv[2] : "data/cifar-10-batches-bin";
  const std::int64_t examples = argc > 3 ? std::stol(argv[3]) : 2000;

  return launch(
      [&](World& world) {
        Accelerator accelerator(world, {.precision = {"fp16"}});
        const Splits data = accelerator.open_dataset({"cifar10",
                                                      {{"dir", folder},
                                                       {"download", false},
                                                       {"fallback", "shapes"},
                                                       {"train_limit", examples},
                                                       {"eval_limit", examples / 2}}});
        const DataSpec spec = data.train->spec();
        torch::manual_seed(1);
        SimpleCnn plain_model(spec.input_shape[0], spec.input_shape[1], spec.classes);
        torch::optim::Adam adam(plain_model->parameters(), torch::optim::AdamOptions(1e-3));

        auto [model, optimizer] = accelerator.prepare(plain_model, adam);
        auto train = accelerator.prepare_split(*data.train, {.batch_size = 64, .shuffle = true});
        auto eval = accelerator.prepare_split(*data.eval, {.batch_size = 250});

        for (int epoch = 0; epoch < 2; ++epoch) {
          model->train();
          for (Batch& batch : train) {
            torch::Tensor loss;
            {
              const auto autocast = accelerator.autocast();
              loss = torch::cross_entropy_loss(model->forward(batch.input), batch.target);
            }
            accelerator.backward(loss);  // scales the loss; gradients are unscaled when it returns
            accelerator.clip_grad_norm_(model->parameters(), 1.0);
            optimizer.step();  // skipped if a gradient is infinite: the loss scale was too large
            optimizer.zero_grad();
          }

          model->eval();
          const torch::NoGradGuard no_grad;
          double correct = 0, count = 0;
          for (Batch& batch : eval) {
            const auto autocast = accelerator.autocast();
            auto [predicted, target] =
                accelerator.gather_for_metrics(model->forward(batch.input).argmax(1), batch.target);
            correct += predicted.eq(target).sum().item<double>();
            count += static_cast<double>(target.size(0));
          }
          accelerator.print("epoch ", epoch, ": accuracy ", correct / count, " of ", count, " examples");
        }
      },
      ranks);
}
