#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "components/images/image_codec.hpp"

namespace runner {

// The orientation in the EXIF data of a JPEG file: 1 upright, 2 to 8 rotated or mirrored. 1 if there is none.
int exif_orientation(std::span<const std::uint8_t> jpeg);

// Turns a decoded image upright, as Pillow's ImageOps.exif_transpose does. `rgb` holds three bytes per pixel.
// Returns the new size.
ImageSize turn_upright(std::vector<std::uint8_t>& rgb, ImageSize size, int orientation);

}  // namespace runner
