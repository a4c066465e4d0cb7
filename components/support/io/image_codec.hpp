#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "components/support/io/io_error.hpp"

namespace runner {

struct ImageSize {
  std::int64_t height = 0, width = 0;
};

// More than this is taken for an attack or a mistake, not for a training image.
inline constexpr std::int64_t most_pixels = 100'000'000;

// An encoded image to red, green, blue bytes, pixel after pixel, whatever it was: grey, palette, CMYK, 16
// bit; alpha is dropped. `rgb` grows as needed. Throws IoError that says what is wrong with the bytes,
// without a file name.
ImageSize decode_image(std::span<const std::uint8_t> encoded,
                       std::vector<std::uint8_t>& rgb);  // by its first bytes
ImageSize decode_jpeg(std::span<const std::uint8_t> encoded, std::vector<std::uint8_t>& rgb);
ImageSize decode_png(std::span<const std::uint8_t> encoded, std::vector<std::uint8_t>& rgb);

}  // namespace runner
