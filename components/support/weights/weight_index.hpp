#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace runner {

// The index of weights that lie in several files, as HuggingFace writes it: {"weight_map":
// {"model.norm.weight": "model-00002-of-00002.safetensors", ..}}. What each file holds, by its name; all of
// them lie beside the index. Throws std::runtime_error that names the index and the reason.
std::map<std::string, std::vector<std::string>> read_weight_index(const std::filesystem::path& path);

}  // namespace runner
