#pragma once

#include <torch/nn/module.h>

#include <filesystem>

namespace runner::exported {

// A copy of the file in which parameters and buffers have the values of the module. Python reads it with
// torch.export.load. Throws std::runtime_error, IoError, Refusal.
void write_program(const std::filesystem::path& source, const torch::nn::Module& trained,
                   const std::filesystem::path& out);

}  // namespace runner::exported
