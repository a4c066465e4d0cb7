#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "runner/recipe/recipe.hpp"

namespace runner {

// The recipe's model as initialised by its seed, but without memory for its parameters. Everything else that
// its constructor creates, such as buffers and tables, exists. TorchScript models, which read their
// parameters themselves, and models of plugins are built whole.

// The same for what a function builds; it is called twice, and its constructors may not read the values of
// tensors that they make.
using BuildModule = std::function<std::shared_ptr<torch::nn::Module>()>;
std::shared_ptr<torch::nn::Module> build_hollow_module(const BuildModule& build);

// The parameters are on LibTorch's meta device.
std::shared_ptr<Model> build_hollow_model(const Recipe& recipe, const DataSpec& data);

// The parameters have their values, bit for bit. Those of `least_bytes` or more are in a temporary file in
// the folder, which is deleted with them: the system can drop their pages from memory. Throws IoError.
std::shared_ptr<Model> build_spooled_model(const Recipe& recipe, const DataSpec& data,
                                           const std::filesystem::path& folder,
                                           std::int64_t least_bytes = 64 << 10);

}  // namespace runner
