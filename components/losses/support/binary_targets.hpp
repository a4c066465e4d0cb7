#pragma once

#include <string_view>
#include <vector>

#include "components/contract/batch.hpp"

namespace runner {

// For losses on answers of yes or no: throws where a target is not from 0 (no) to 1 (yes).
void require_binary(const torch::Tensor& target, std::string_view loss);

// One number for all outputs, or one for each: shaped so that it meets dimension 1 of the outputs.
torch::Tensor for_each_output(const std::vector<double>& numbers, const torch::Tensor& output,
                              std::string_view setting);

}  // namespace runner
