#include "components/datasets/support/image_file.hpp"

#include "components/datasets/dataset.hpp"
#include "components/support/io/image_codec.hpp"
#include "components/support/io/open_file.hpp"

namespace runner {

ImageView read_image(const std::filesystem::path& path, Scratch& scratch) {
  thread_local std::vector<std::uint8_t> encoded;
  try {
    constexpr std::size_t largest_image = 256u << 20;
    read_file(path, encoded, largest_image);
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
  try {
    const ImageSize size = decode_image(encoded, scratch.decoded);
    return ImageView::interleaved(scratch.decoded.data(), size.height, size.width, 3);
  } catch (const IoError& error) {
    throw DataError("Cannot use the image " + path.string() + ": " + error.what() + ".");
  }
}

}  // namespace runner
