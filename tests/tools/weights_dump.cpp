// Copies the weights of any file that model.weights takes into a safetensors file, for tests that compare
// with Python's.
//   weights_dump IN OUT.safetensors
#include <torch/types.h>

#include <iostream>

#include "components/weights/safetensors.hpp"
#include "components/weights/torch_file.hpp"
#include "registry/files/private_mapping.hpp"

int main(int count, char** arguments) try {
  using namespace runner;
  if (count != 3) throw std::invalid_argument("usage: weights_dump IN OUT.safetensors");
  std::map<std::string, torch::Tensor> tensors;
  Metadata metadata;
  if (looks_like_torch_file(PrivateMapping::open(arguments[1])->bytes())) {
    TorchFile file = read_torch_file(arguments[1]);
    std::cout << file.layout << ";" << file.found_in << ";";
    for (const std::string& other : file.others) std::cout << other << ",";
    std::cout << '\n';
    tensors = std::move(file.tensors);
  } else {
    tensors = read_safetensors(arguments[1]);
    metadata = read_safetensors_metadata(arguments[1]);
  }
  write_safetensors(arguments[2], {tensors.begin(), tensors.end()}, metadata);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
