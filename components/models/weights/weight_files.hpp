#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "registry/files/private_mapping.hpp"

namespace runner {

// The weights that model.weights names: a file (safetensors or torch.save), a folder that HuggingFace's
// save_pretrained wrote, or the index of weights in several files. The files are mapped and the tensors are
// read-only: they take no memory before they are read.
struct WeightFiles {
  std::string format;  // "safetensors", "safetensors in 3 files", "torch.save (zip)" ..
  std::map<std::string, torch::Tensor> tensors = {};
  std::vector<std::string> others = {};  // keys without a tensor
  std::vector<std::shared_ptr<PrivateMapping>> files = {};

  // Starts reading a tensor, or a view of one, that is needed soon; releases the memory of one that is not
  // needed for now.
  void will_need(const torch::Tensor& tensor) const;
  void give_back(const torch::Tensor& tensor) const;
};

// Throws std::runtime_error, which names the file and the reason. A file with a checksum is compared with it.
WeightFiles read_weight_files(const std::filesystem::path& path);

}  // namespace runner
