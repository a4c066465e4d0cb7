#pragma once

#include <string_view>

#include "components/contract/batch.hpp"

namespace runner {

// The target in the type and shape of the outputs, for elementwise comparison. Outputs [examples, 1] and
// targets [examples] fit. Any other difference in shape would broadcast, so it throws an error that names
// `who`.
torch::Tensor target_like(const torch::Tensor& output, const torch::Tensor& target, std::string_view who,
                          std::string_view what = "targets");

}  // namespace runner
