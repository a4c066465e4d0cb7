// The precompiled header of every target that uses LibTorch: what most of its files include anyway.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

// Not <torch/torch.h>: every file would then pay for the templates of all of torch::nn, several seconds each. Files
// include what they use: <torch/utils.h>, <torch/nn/modules/linear.h> ..
#include <torch/nn/module.h>
#include <torch/types.h>
