#include "components/images/image_codec.hpp"

#include <algorithm>
#include <array>

namespace runner {

namespace {

constexpr std::array<std::uint8_t, 3> jpeg_start = {0xFF, 0xD8, 0xFF};
constexpr std::array<std::uint8_t, 8> png_start = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

template <std::size_t count>
bool starts_with(std::span<const std::uint8_t> bytes, const std::array<std::uint8_t, count>& start) {
  return bytes.size() >= count && std::ranges::equal(bytes.first(count), start);
}

}  // namespace

ImageSize decode_image(std::span<const std::uint8_t> encoded, std::vector<std::uint8_t>& rgb) {
  if (encoded.empty()) throw IoError("the file is empty");
  if (starts_with(encoded, jpeg_start)) return decode_jpeg(encoded, rgb);
  if (starts_with(encoded, png_start)) return decode_png(encoded, rgb);
  throw IoError("it is neither a JPEG nor a PNG image");
}

}  // namespace runner
