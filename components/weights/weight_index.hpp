#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace runner {

// Reads the index of weights that are stored in several files, as HuggingFace writes it: {"weight_map":
// {"model.norm.weight": "model-00002-of-00002.safetensors", ..}}. Returns the names of the tensors in each
// file, sorted; all files are in the folder of the index. Throws std::runtime_error that names the index.
std::map<std::string, std::vector<std::string>> read_weight_index(const std::filesystem::path& path);

// Throws std::runtime_error if a file does not hold exactly the tensors that the index says it has.
void require_indexed(const std::filesystem::path& index, const std::filesystem::path& file,
                     const std::vector<std::string>& names,
                     const std::map<std::string, torch::Tensor>& tensors);

}  // namespace runner
