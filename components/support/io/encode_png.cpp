#include "components/support/io/encode_png.hpp"

#include <png.h>

namespace runner {

std::string encode_png(std::span<const std::uint8_t> rgb, ImageSize size) {
  if (size.height <= 0 || size.width <= 0 ||
      rgb.size() != static_cast<std::size_t>(size.height * size.width * 3)) {
    throw IoError("an image of " + std::to_string(size.width) + " x " + std::to_string(size.height) +
                  " pixels does not have " + std::to_string(rgb.size()) + " bytes");
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(size.height);
  image.width = static_cast<png_uint_32>(size.width);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string png(bytes, '\0');
  if (!png_image_write_to_memory(&image, png.data(), &bytes, 0, rgb.data(), 0, nullptr))
    throw IoError("the image cannot be encoded: " + std::string(image.message));
  png.resize(bytes);
  return png;
}

}  // namespace runner
