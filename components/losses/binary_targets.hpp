#pragma once

#include <string_view>
#include <vector>

#include "components/contract/batch.hpp"

namespace runner {

// For binary losses: throws if a target is not between 0 (no) and 1 (yes).
void require_binary(const torch::Tensor& target, std::string_view loss);

// One number for all outputs, or one for each output, in a shape that broadcasts along dimension 1.
torch::Tensor for_each_output(const std::vector<double>& numbers, const torch::Tensor& output,
                              std::string_view setting);

}  // namespace runner
