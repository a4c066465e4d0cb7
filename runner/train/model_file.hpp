#pragma once

#include <filesystem>

#include "components/models/model.hpp"

namespace runner {

// The weights as safetensors under PyTorch's names, whole or not at all.
void save_model(const Model& model, const std::filesystem::path& path);

}  // namespace runner
