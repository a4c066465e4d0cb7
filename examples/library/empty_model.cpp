// A model that is built without memory and dispatched: its weights stay in their file and are read when they
// are needed, here with room for about two of its eight layers.
//   example_empty_model [FOLDER FOR THE WEIGHTS]
#include <torch/nn.h>

#include <iostream>

#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/big_models.hpp"

constexpr std::int64_t width = 512, layers = 8;

struct BigNetImpl : torch::nn::Module {
  BigNetImpl() {
    for (std::int64_t i = 0; i < layers; ++i) stack->push_back(torch::nn::Linear(width, width));
    register_module("stack", stack);
  }
  torch::Tensor forward(torch::Tensor x) {
    for (const auto& layer : *stack) x = torch::relu(layer->as<torch::nn::Linear>()->forward(x));
    return x;
  }
  torch::nn::ModuleList stack;
};
TORCH_MODULE(BigNet);

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "big_net";
  const torch::NoGradGuard no_grad;
  const torch::Tensor input = torch::ones({1, width});
  const BigNet whole;
  runner::Accelerator().save_model(*whole, folder);

  BigNet net = runner::init_empty_weights([] { return BigNet(); });
  auto dispatched = runner::load_checkpoint_and_dispatch(
      *net, folder, {.max_memory = {{"cpu", 4 * width * width * 4}}, .unit_bytes = 4 * width * (width + 1)});
  const auto pass = dispatched.pass();
  const torch::Tensor output = net->forward(input);
  std::cout << "equal to the whole model: " << std::boolalpha
            << torch::equal(output, BigNet(whole)->forward(input)) << ", with at most "
            << dispatched.peak_bytes() / (4 * width * (width + 1)) << " of the layers read at once"
            << std::endl;
}
