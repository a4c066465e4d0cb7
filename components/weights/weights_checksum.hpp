#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <torch/types.h>

#include "components/weights/safetensors.hpp"

namespace runner {

// A checksum in the metadata of a weights file that no manifest describes: of the names, types, shapes and
// values of all tensors, and of the other metadata. Tools that read safetensors files ignore it.
inline constexpr auto checksum_key = "runner.checksum";

// `done_with` is called after a tensor was read.
std::string weights_checksum(const std::map<std::string, torch::Tensor>& tensors,
                             const Metadata& metadata = {},
                             const std::function<void(const torch::Tensor&)>& done_with = {});

// Throws std::runtime_error that names the file if it cannot be read or its contents do not match its
// checksum. Of a file without one, only the header is compared with the size. The file may be larger than
// the memory.
void require_intact_weights(const std::filesystem::path& path);
void require_intact_weights(const std::shared_ptr<PrivateMapping>& file);

}  // namespace runner
