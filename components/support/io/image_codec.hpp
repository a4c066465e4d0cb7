#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "components/support/io/io_error.hpp"

namespace runner {

struct ImageSize {
  std::int64_t height = 0, width = 0;
};

// A larger image is taken for a mistake or an attack.
inline constexpr std::int64_t most_pixels = 100'000'000;

// Decodes an image of any colour type (grey, palette, CMYK, 16 bit) to red, green, blue bytes, pixel after
// pixel; alpha is dropped. `rgb` grows as needed. Throws IoError, which says what is wrong with the bytes but
// names no file.
ImageSize decode_image(std::span<const std::uint8_t> encoded,
                       std::vector<std::uint8_t>& rgb);  // by its first bytes
ImageSize decode_jpeg(std::span<const std::uint8_t> encoded, std::vector<std::uint8_t>& rgb);
ImageSize decode_png(std::span<const std::uint8_t> encoded, std::vector<std::uint8_t>& rgb);

// The other way: red, green, blue bytes, pixel after pixel, as a PNG file. Throws IoError.
std::string encode_png(std::span<const std::uint8_t> rgb, ImageSize size);

}  // namespace runner
