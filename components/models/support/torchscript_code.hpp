#pragma once

#include <torch/script.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace runner {

// What a TorchScript file's code does besides computing with tensors: writing or mapping files, printing,
// calling other machines, classes and operators that are not LibTorch's own; "" if it does none of these. The
// words continue "code that ..".
std::string effect_of_code(std::string_view code);

// Loads a module after looking at all of its code: loading runs some of it already. Checking and loading use
// the same bytes and the same reader, so that the code that runs is the code that was checked. Throws
// std::runtime_error where code has such an effect, or cannot be looked at.
torch::jit::Module load_code_without_effects(const std::filesystem::path& file);

}  // namespace runner
