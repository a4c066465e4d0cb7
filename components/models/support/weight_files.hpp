#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <torch/types.h>

namespace runner {

// What model.weights names: a file (safetensors, or torch.save), a folder that HuggingFace's save_pretrained
// wrote, or the index of weights in several files.
struct WeightFiles {
  std::string format;  // "safetensors", "safetensors in 3 files", "torch.save (zip)" ..
  std::map<std::string, torch::Tensor> tensors = {};
  std::vector<std::string> others = {};  // keys without a tensor
};

// Throws std::runtime_error that names the file and the reason.
WeightFiles read_weight_files(const std::filesystem::path& path);

}  // namespace runner
