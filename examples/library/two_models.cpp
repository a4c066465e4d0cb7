// Two models in one training, an encoder and a head, each saved in a sub-folder and a layout of its own: the
// encoder as one file of raw numbers a tensor, the head as text.
//   example_two_models [RANKS] [CHECKPOINT]
#include <torch/nn.h>
#include <torch/optim/adam.h>
#include <torch/serialize.h>

#include <fstream>

#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/launch.hpp"

using namespace runner;
namespace fs = std::filesystem;

// Called before a checkpoint is written, on the main rank. What is erased is not saved by default.
void save_in_own_formats(ModelStates& models, const fs::path& folder) {
  fs::create_directories(folder / "encoder");
  for (const auto& [name, tensor] : models.at("model.encoder").tensors) {
    const torch::Tensor numbers = tensor.contiguous().cpu();
    std::ofstream(folder / "encoder" / (name + ".f32"), std::ios::binary)
        .write(static_cast<const char*>(numbers.const_data_ptr()),
               static_cast<std::streamsize>(numbers.nbytes()));
  }
  models.erase("model.encoder");

  fs::create_directories(folder / "head");
  std::ofstream text(folder / "head/weights.txt");
  text.precision(9);  // enough for every float
  for (const auto& [name, tensor] : models.at("model.head").tensors) {
    text << name << ' ' << tensor.numel();
    const torch::Tensor numbers = tensor.contiguous().cpu().flatten();
    for (std::int64_t i = 0; i < numbers.numel(); ++i) text << ' ' << numbers[i].item<float>();
    text << '\n';
  }
  models.erase("model.head");
}

// The reverse, before one is loaded, on every rank: what is put back is loaded into the models.
void load_from_own_formats(ModelStates& models, const fs::path& folder) {
  for (const auto& file : fs::directory_iterator(folder / "encoder")) {
    const torch::Tensor numbers = torch::empty(static_cast<std::int64_t>(file.file_size() / sizeof(float)));
    std::ifstream(file.path(), std::ios::binary)
        .read(static_cast<char*>(numbers.data_ptr()), static_cast<std::streamsize>(numbers.nbytes()));
    const bool weight = file.path().stem() == "weight";
    models["model.encoder"].tensors[file.path().stem()] = weight ? numbers.view({16, 4}) : numbers;
  }
  std::ifstream text(folder / "head/weights.txt");
  std::string name;
  for (std::int64_t count = 0; text >> name >> count;) {
    const torch::Tensor numbers = torch::empty(count);
    for (std::int64_t i = 0; i < count; ++i) text >> numbers.data_ptr<float>()[i];
    models["model.head"].tensors[name] = name == "weight" ? numbers.view({1, 16}) : numbers;
  }
}

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::stoi(argv[1]) : 1;
  const fs::path checkpoint = argc > 2 ? argv[2] : "two_models";

  return launch(
      [&](World& world) {
        Accelerator accelerator(world);
        torch::manual_seed(1);
        torch::nn::Linear encoder(4, 16), head(16, 1);
        accelerator.prepare_model(encoder.ptr(), "encoder");
        accelerator.prepare_model(head.ptr(), "head");
        torch::optim::Adam encoder_adam(encoder->parameters(), 1e-2), head_adam(head->parameters(), 1e-2);
        auto [encoder_optimizer, head_optimizer] = accelerator.prepare(encoder_adam, head_adam);
        accelerator.register_save_state_pre_hook(save_in_own_formats);
        accelerator.register_load_state_pre_hook(load_from_own_formats);
        if (accelerator.has_state(checkpoint)) accelerator.load_state(checkpoint);

        const torch::Tensor input = torch::sin(torch::arange(400.0f)).view({100, 4});
        const torch::Tensor target = input.sum(1, true);
        torch::Tensor loss;
        for (int step = 0; step < 50; ++step) {
          loss = torch::mse_loss(head(torch::relu(encoder(input))), target);
          accelerator.backward(loss);
          encoder_optimizer.step();
          head_optimizer.step();
          encoder_optimizer.zero_grad();
          head_optimizer.zero_grad();
        }
        accelerator.save_state(checkpoint);
        accelerator.print("loss ", loss.item<double>());
      },
      ranks);
}
