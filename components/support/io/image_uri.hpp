#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "components/contract/data_spec.hpp"
#include "components/support/io/image_codec.hpp"

namespace runner {

std::vector<std::uint8_t> encode_png(std::span<const std::uint8_t> rgb, const ImageSize& size);

// An image as the model gets it, [channels, height, width], as one that a browser shows:
// "data:image/png;base64,..". What was normalised is taken back where the data says how; other numbers beyond
// 0 to 1 are stretched to it.
std::string image_uri(const torch::Tensor& image, const DataSpec& data);

}  // namespace runner
