#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "registry/files/private_mapping.hpp"

namespace runner {

// Files written by Python's torch.save, in the zip layout (PyTorch 1.6 and later) or the old one (pickles
// followed by the raw storages). Nothing in them is executed: see pickle.hpp.

struct TorchFile {
  std::string layout;    // "zip" or "old layout"
  std::string found_in;  // the key the weights were found under, "" for the file itself
  std::map<std::string, torch::Tensor> tensors;  // views of the mapped file if the alignment allows
  std::vector<std::string> others;               // keys next to the tensors whose values are not tensors
};

// Finds the weights in {"state_dict": {..}, "epoch": 3} and the like. Throws std::runtime_error that names
// the file.
TorchFile read_torch_file(const std::filesystem::path& path);

// The same for a file that is already mapped; if the mapping is read-only, so are the tensors.
TorchFile read_torch_file(const std::shared_ptr<PrivateMapping>& file);

// Whether the first bytes of a file look like one of the two layouts.
bool looks_like_torch_file(std::span<const std::byte> bytes);

}  // namespace runner
