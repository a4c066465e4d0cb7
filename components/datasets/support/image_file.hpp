#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "components/transforms/image.hpp"

namespace runner {

bool is_image_file(const std::filesystem::path& path);  // by its name

bool is_hidden(const std::filesystem::path& path);  // by its name

// Visits the files in a folder and its subfolders, except hidden ones and those in hidden folders.
void each_visible_file(const std::filesystem::path& folder,
                       const std::function<void(const std::filesystem::path&)>& visit);

// The image files among them, sorted.
std::vector<std::filesystem::path> images_in(const std::filesystem::path& folder);

// How a photograph that was taken with the camera turned is used.
enum class Turned { as_stored, upright };

// Decodes a JPEG or PNG file to red, green and blue in scratch.decoded. Throws DataError, naming the file.
ImageView read_image(const std::filesystem::path& path, Scratch& scratch, Turned turned = Turned::as_stored);

// Whether the image is not stored upright, according to the EXIF data of the file.
bool is_stored_turned(const std::filesystem::path& path);

}  // namespace runner
