#include "components/datasets/read/image_file.hpp"

#include <algorithm>

#include "components/datasets/dataset.hpp"
#include "components/images/exif_orientation.hpp"
#include "components/images/image_codec.hpp"
#include "registry/base/ascii.hpp"
#include "registry/base/log.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/open_file.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

bool is_image_file(const fs::path& path) {
  const std::string ending = ascii_lower(path.extension().string());
  return ending == ".jpg" || ending == ".jpeg" || ending == ".jfif" || ending == ".png";
}

void visit_or_skip(const fs::directory_entry& entry, Skipped& skipped,
                   const std::function<void(const fs::path&)>& visit) {
  std::error_code ignored;
  const fs::path& path = entry.path();
  const bool broken = entry.is_symlink(ignored) && !entry.exists(ignored);
  if (entry.is_directory(ignored)) {
    if (entry.is_symlink(ignored)) skipped.folder_links.add(path);
  } else if (is_image_file(path) && (broken || entry.is_regular_file(ignored))) {
    visit(path);
  } else if (broken) {
    skipped.broken_links.add(path);
  } else if (entry.is_regular_file(ignored)) {
    skipped.others.add(path);
  }
}

}  // namespace

bool leads_nowhere(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored) && !fs::exists(path, ignored);
}

void warn_about(const Skipped& skipped, const fs::path& folder) {
  const auto warn = [&](const Skipped::Some& some, const char* why) {
    if (some.count > 0) log::warning(why, folder.string(), some.count, some.example.string());
  };
  warn(skipped.others, "Files in {} are skipped because they are neither JPEG nor PNG: {}, for example {}.");
  warn(skipped.folder_links,
       "Links to folders in {} are not followed: {}, for example {}. Move the folders there, or link their "
       "images one by one.");
  warn(skipped.broken_links,
       "Links in {} are skipped because what they point to is missing: {}, for example {}.");
}

void each_image(const fs::path& folder, Skipped& skipped, const std::function<void(const fs::path&)>& visit) {
  const fs::recursive_directory_iterator end;
  for (fs::recursive_directory_iterator entry(folder); entry != end; ++entry) {
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
    } else {
      visit_or_skip(*entry, skipped, visit);
    }
  }
}

std::vector<fs::path> images_in(const fs::path& folder, Skipped& skipped) {
  std::vector<fs::path> images;
  const auto add = [&](const fs::path& file) { images.push_back(file); };
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code ignored;
    if (is_hidden(entry.path())) continue;
    if (entry.is_directory(ignored)) {
      each_image(entry.path(), skipped, add);
    } else {
      visit_or_skip(entry, skipped, add);
    }
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
    if (leads_nowhere(path))
      throw DataError(path.string() + " is a link to " + fs::read_symlink(path).string() +
                      ", which is missing.");
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
