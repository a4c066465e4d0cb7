#pragma once

#include <filesystem>
#include <memory>

#include "registry/diagnostics.hpp"
#include "registry/origin.hpp"

namespace runner {

constexpr std::size_t largest_recipe = 8'000'000;  // bytes; a larger file is no recipe

// The text of a file; if it cannot be read, nothing and a message with the reason. `mentioned` is the place
// that names the file. Only a recipe from the command line, which no file mentions, may be "-" (standard
// input).
std::shared_ptr<const Source> read_recipe_file(const std::filesystem::path& path, const Origin& mentioned,
                                               Diagnostics& diagnostics);

}  // namespace runner
