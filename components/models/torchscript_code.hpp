#pragma once

#include <torch/script.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace runner {

// What TorchScript code does apart from computing with tensors: writing or mapping files, printing, calling
// other machines, using classes and operators that are not LibTorch's own; "" if it does none of these. The
// text completes "code that ..".
std::string effect_of_code(std::string_view code);

// Loads a module after checking all of its code, because loading already runs some of it. Both use the same
// bytes and the same reader, so that the code that runs is the code that was checked. Throws
// std::runtime_error if code has such an effect, or cannot be checked.
torch::jit::Module load_code_without_effects(const std::filesystem::path& file);

}  // namespace runner
