#pragma once

#include <filesystem>

#include "components/transforms/image.hpp"

namespace runner {

// A JPEG or PNG file, decoded to red, green and blue in scratch.decoded. Throws DataError that names it.
ImageView read_image(const std::filesystem::path& path, Scratch& scratch);

}  // namespace runner
