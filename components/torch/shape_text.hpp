#pragma once

#include <torch/types.h>

#include <string>

namespace runner {

// "[64, 3, 32, 32]"
std::string shape_text(torch::IntArrayRef shape);

// "Float [64, 3, 32, 32]"
std::string form_text(const torch::Tensor& tensor);

}  // namespace runner
