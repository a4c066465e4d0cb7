#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "components/transforms/image.hpp"

namespace runner {

inline constexpr const char* image_endings = ".jpg, .jpeg, .jfif or .png";  // in any case

bool leads_nowhere(const std::filesystem::path& path);  // a link whose target is missing

// What a search for images skips: how many of each, and one of them.
struct Skipped {
  struct Some {
    std::int64_t count = 0;
    std::filesystem::path example = {};

    void add(const std::filesystem::path& path) {
      ++count;
      example = path;
    }
  };
  Some others;        // files that are not images
  Some folder_links;  // not followed, because they may form a cycle
  Some broken_links;  // only those that are not called like an image: reading an image reports it
};
void warn_about(const Skipped& skipped, const std::filesystem::path& folder);

// Visits the image files in a folder and its subfolders, except hidden ones and those in hidden folders.
void each_image(const std::filesystem::path& folder, Skipped& skipped,
                const std::function<void(const std::filesystem::path&)>& visit);

// These images, sorted. Links to folders are followed in the folder itself, where class folders may be.
std::vector<std::filesystem::path> images_in(const std::filesystem::path& folder, Skipped& skipped);

// How a photograph that was taken with the camera turned is used.
enum class Turned { as_stored, upright };

// Decodes a JPEG or PNG file to red, green and blue in scratch.decoded. Throws DataError, naming the file.
ImageView read_image(const std::filesystem::path& path, Scratch& scratch, Turned turned = Turned::as_stored);

// Whether the image is not stored upright, according to the EXIF data of the file.
bool is_stored_turned(const std::filesystem::path& path);

}  // namespace runner
