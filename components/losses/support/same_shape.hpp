#pragma once

#include <string_view>

#include "components/contract/batch.hpp"

namespace runner {

// The target in the type and shape of the outputs, for comparing number by number. One number for each
// example: [examples] and [examples, 1] mean the same. Any other difference would broadcast, so it throws,
// naming `who`.
torch::Tensor target_like(const torch::Tensor& output, const torch::Tensor& target, std::string_view who,
                          std::string_view what = "targets");

}  // namespace runner
