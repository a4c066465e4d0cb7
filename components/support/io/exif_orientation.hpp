#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "components/support/io/image_codec.hpp"

namespace runner {

// How a camera was held, as the EXIF data of a JPEG file say: 1 upright, 2 to 8 turned or mirrored. 1 where
// they say nothing.
int exif_orientation(std::span<const std::uint8_t> jpeg);

// Turns a decoded image upright, as Pillow's ImageOps.exif_transpose does. `rgb` holds three bytes for each
// pixel. Returns its new size.
ImageSize turn_upright(std::vector<std::uint8_t>& rgb, ImageSize size, int orientation);

}  // namespace runner
