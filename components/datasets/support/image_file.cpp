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

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

void each_visible_file(const fs::path& folder, const std::function<void(const fs::path&)>& visit) {
  const fs::recursive_directory_iterator end;
  for (fs::recursive_directory_iterator entry(folder); entry != end; ++entry) {
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      visit(entry->path());
    }
  }
}

std::vector<fs::path> images_in(const fs::path& folder) {
  std::vector<fs::path> images;
  const auto add = [&](const fs::path& file) {
    if (is_image_file(file)) images.push_back(file);
  };
  // Links to folders are followed at this level only, where class folders are: deeper links may form a cycle.
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_hidden(entry.path())) continue;
    if (entry.is_regular_file()) add(entry.path());
    if (entry.is_directory()) each_visible_file(entry.path(), add);
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
