#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "components/support/io/image_codec.hpp"

namespace runner {

// Red, green, blue bytes, pixel after pixel, as a PNG file. Throws IoError.
std::string encode_png(std::span<const std::uint8_t> rgb, ImageSize size);

}  // namespace runner
