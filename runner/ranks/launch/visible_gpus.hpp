#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/ranks/membership.hpp"

namespace runner {

// What CUDA_VISIBLE_DEVICES lists: numbers, or names such as GPU-8932f937; nothing if it is not set, and
// every GPU is visible.
std::optional<std::vector<std::string>> listed_gpus(const Environment& environment);

// Makes this GPU the only visible one. It is counted from 0 among those that were visible before.
void show_only_gpu(int gpu, Environment& environment);

}  // namespace runner
