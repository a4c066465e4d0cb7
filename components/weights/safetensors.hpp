#pragma once

#include <torch/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "registry/files/private_mapping.hpp"
#include "registry/files/written_file.hpp"

namespace runner {

// The safetensors format: eight bytes of length, a JSON header with type, shape and offsets of each tensor,
// then the raw values, little-endian, without gaps. https://github.com/huggingface/safetensors

using Metadata = std::map<std::string, std::string>;

// The tensors are views of the mapped file if the alignment allows, else copies: a view is not read before it
// is used, and writing into it does not change the file.
std::map<std::string, torch::Tensor> read_safetensors(const std::filesystem::path& path);

// The same for a file that is already mapped; if the mapping is read-only, so are the tensors.
std::map<std::string, torch::Tensor> read_safetensors(const std::shared_ptr<PrivateMapping>& file);

Metadata read_safetensors_metadata(const std::filesystem::path& path);
Metadata read_safetensors_metadata(const std::shared_ptr<PrivateMapping>& file);

// Written completely or not at all. Tensors may be on any device and in any layout. The checksums are
// computed while the file is written. `done_with` is called after a tensor was read, from two threads.
WrittenFile write_safetensors(const std::filesystem::path& path,
                              const std::vector<std::pair<std::string, torch::Tensor>>& tensors,
                              const Metadata& metadata = {},
                              const std::function<void(const torch::Tensor&)>& done_with = {});

// Whether the first bytes of a file look like this format.
bool looks_like_safetensors(std::span<const std::byte> bytes);

}  // namespace runner
