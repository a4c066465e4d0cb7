#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "registry/files/io_error.hpp"

namespace runner {

struct ImageSize {
  std::int64_t height = 0, width = 0;
};

// Larger images are refused as a mistake or an attack.
inline constexpr std::int64_t most_pixels = 100'000'000;

// Decodes an image of any colour type (grey, palette, CMYK, 16 bit) to interleaved RGB bytes; alpha is
// dropped. `rgb` is resized as needed. Throws IoError, which says what is wrong with the bytes but does not
// name the file.
ImageSize decode_image(std::span<const std::uint8_t> encoded,
                       std::vector<std::uint8_t>& rgb);  // JPEG or PNG, by its first bytes
ImageSize decode_jpeg(std::span<const std::uint8_t> encoded, std::vector<std::uint8_t>& rgb);
ImageSize decode_png(std::span<const std::uint8_t> encoded, std::vector<std::uint8_t>& rgb);

// Encodes interleaved RGB bytes as a PNG file. Throws IoError.
std::string encode_png(std::span<const std::uint8_t> rgb, ImageSize size);

}  // namespace runner
