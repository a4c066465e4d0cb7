#include "components/datasets/support/image_file.hpp"

#include <algorithm>
#include <cctype>

#include "components/datasets/dataset.hpp"
#include "components/support/io/exif_orientation.hpp"
#include "components/support/io/image_codec.hpp"
#include "components/support/io/open_file.hpp"

namespace runner {

namespace fs = std::filesystem;

bool is_image_file(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

std::vector<fs::path> images_in(const fs::path& folder) {
  std::vector<fs::path> images;
  const auto add = [&](const fs::directory_entry& entry) {
    if (entry.is_regular_file() && is_image_file(entry.path())) images.push_back(entry.path());
  };
  // Links to folders are followed here, where the folders of classes are, but not below: they may lead back.
  for (const auto& entry : fs::directory_iterator(folder)) {
    add(entry);
    if (!entry.is_directory()) continue;
    for (const auto& inner : fs::recursive_directory_iterator(entry.path())) add(inner);
  }
  std::ranges::sort(images);
  return images;
}

ImageView read_image(const std::filesystem::path& path, Scratch& scratch, Turned turned) {
  thread_local std::vector<std::uint8_t> encoded;
  try {
    constexpr std::size_t largest_image = 256u << 20;
    read_file(path, encoded, largest_image);
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
  try {
    ImageSize size = decode_image(encoded, scratch.decoded);
    if (turned == Turned::upright) size = turn_upright(scratch.decoded, size, exif_orientation(encoded));
    return ImageView::interleaved(scratch.decoded.data(), size.height, size.width, 3);
  } catch (const IoError& error) {
    throw DataError(path.string() + ": " + error.what() + ".");
  }
}

bool is_stored_turned(const fs::path& path) {
  constexpr std::size_t enough = 1 << 18;  // EXIF data is at the beginning
  try {
    const OpenFile file(path);
    std::vector<std::uint8_t> start(std::min(file.size(), enough));
    file.read_at(0, start);
    return exif_orientation(start) != 1;
  } catch (const IoError&) {
    return false;  // reading the image will report the error
  }
}

}  // namespace runner
