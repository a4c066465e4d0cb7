#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <torch/types.h>

namespace runner {

// A checksum in the metadata of a weights file that no manifest describes: of the names, types, shapes and
// values of all tensors. Tools that read safetensors files ignore it.
inline constexpr auto checksum_key = "runner.checksum";

std::string weights_checksum(const std::map<std::string, torch::Tensor>& tensors);

// Throws std::runtime_error that names the file if it cannot be read or its contents do not match its
// checksum. Of a file without one, only the header is compared with the size.
void require_intact_weights(const std::filesystem::path& path);

}  // namespace runner
