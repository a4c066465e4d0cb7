#pragma once

#include <torch/types.h>

#include <string>

#include "components/contract/data_spec.hpp"

namespace runner {

// An input image of a model, [channels, height, width], for a browser: "data:image/png;base64,..".
// Normalisation is undone with the mean and deviation of the data; if they are unknown, values outside 0 to 1
// are rescaled.
std::string image_uri(const torch::Tensor& image, const DataSpec& data);

}  // namespace runner
