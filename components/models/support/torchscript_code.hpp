#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace runner {

// What a TorchScript file's code does beside computing with tensors: writing or mapping files, printing,
// calling other machines, classes and operators that are not LibTorch's own; "" where it does nothing of the
// kind. In words that go on after "the code in it ..".
std::string effect_of_code(std::string_view code);

// Throws std::runtime_error where code in the archive has such an effect, or cannot be looked at. Before
// loading it: that runs code already.
void require_code_without_effects(const std::filesystem::path& file);

}  // namespace runner
