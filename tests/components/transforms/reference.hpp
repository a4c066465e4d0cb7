// Results of other programs for the pattern image, made by make_reference.py.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <torch/types.h>

namespace runner::testing {

inline torch::Tensor reference(const std::string& wanted) {
  const char* root = std::getenv("RUNNER_SOURCE_DIR");
  std::ifstream file(std::string(root ? root : ".") + "/tests/components/transforms/reference.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t channels = 0, height = 0, width = 0;
    words >> name >> channels >> height >> width;
    if (name != wanted) continue;
    torch::Tensor bytes = torch::empty({channels, height, width}, torch::kUInt8);
    for (std::int64_t i = 0, value = 0; i < bytes.numel() && words >> value; ++i) {
      bytes.data_ptr<std::uint8_t>()[i] = static_cast<std::uint8_t>(value);
    }
    return bytes;
  }
  throw std::runtime_error("no reference " + wanted);
}

}  // namespace runner::testing
