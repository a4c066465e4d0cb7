#pragma once

#include <filesystem>
#include <vector>

#include "components/transforms/image.hpp"

namespace runner {

bool is_image_file(const std::filesystem::path& path);  // by its name

// The image files in a folder and the folders in it, sorted.
std::vector<std::filesystem::path> images_in(const std::filesystem::path& folder);

// What becomes of a photograph that was taken with the camera turned.
enum class Turned { as_stored, upright };

// A JPEG or PNG file, decoded to red, green and blue in scratch.decoded. Throws DataError that names it.
ImageView read_image(const std::filesystem::path& path, Scratch& scratch, Turned turned = Turned::as_stored);

// Whether the EXIF data of the file say that it is not stored upright.
bool is_stored_turned(const std::filesystem::path& path);

}  // namespace runner
