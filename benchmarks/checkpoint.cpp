// Saves and loads a checkpoint of a model of so many bytes, as a run does: checksums, a flush to the disk, a
// rename; then every file is compared with its checksum and copied into a model in memory. Prints seconds.
//   benchmark_checkpoint FOLDER BYTES
#include <torch/types.h>

#include <chrono>
#include <iostream>

#include "runner/checkpoint/checkpoint.hpp"

namespace {

double seconds(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// As many layers as a large model has, so that no tensor is all of it.
runner::Checkpoint made(std::int64_t bytes) {
  constexpr std::int64_t layers = 64, width = 1024;
  const std::int64_t rows = bytes / layers / width / static_cast<std::int64_t>(sizeof(float));
  runner::Checkpoint checkpoint;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    checkpoint.states["model"].tensors["layers." + std::to_string(layer) + ".weight"] =
        torch::rand({rows, width});
  checkpoint.states["optimizer"];
  return checkpoint;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::filesystem::path folder = std::filesystem::path(argv[1]) / "step-00000001";
  runner::Checkpoint checkpoint = made(std::atoll(argv[2]));
  const double save = seconds([&] {
    runner::TemporaryFolderBeside temporary(folder);
    runner::write_checkpoint(temporary, checkpoint);
  });
  const double load = seconds([&] {
    const runner::Checkpoint read = runner::read_checkpoint(folder);
    runner::StateReader model(read.states.at("model"));
    for (const auto& [name, tensor] : checkpoint.states["model"].tensors) model.tensor_into(name, tensor);
  });
  std::cout << "{\"save\": " << save << ", \"load\": " << load << "}\n";
}
