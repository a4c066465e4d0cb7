#pragma once

#include <functional>

#include "components/weights/safetensors.hpp"

namespace runner {

// <stem>.safetensors or, if that would be larger than `most` bytes, <stem>-00001-of-00003.safetensors ..
// with <stem>.safetensors.index.json, as HuggingFace's libraries write and read them.
std::string shard_name(const std::string& stem, std::size_t number, std::size_t count);  // the first is 1

std::vector<std::pair<std::string, WrittenFile>> write_sharded_safetensors(
    const std::filesystem::path& folder, const std::string& stem,
    const std::vector<std::pair<std::string, torch::Tensor>>& tensors, std::int64_t most);

// The file to read for <stem>: the index or the single file. Only files that may be read are considered.
// Throws std::runtime_error if there is none.
using MayBeRead = std::function<bool(const std::string& file)>;
std::filesystem::path find_safetensors(const std::filesystem::path& folder, const std::string& stem,
                                       const MayBeRead& may_be_read);

std::map<std::string, torch::Tensor> read_sharded_safetensors(const std::filesystem::path& folder,
                                                              const std::string& stem,
                                                              const MayBeRead& may_be_read);

}  // namespace runner
