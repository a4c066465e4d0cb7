#pragma once

#include <filesystem>
#include <memory>

#include "registry/diagnostics.hpp"
#include "registry/origin.hpp"

namespace runner {

constexpr std::size_t largest_recipe = 8'000'000;  // bytes; a larger file is no recipe

// The text of a file, or nothing and a message that says why not. `mentioned` is where the file was asked
// for; the recipe that nobody mentions, but the user names, may be "-", standard input.
std::shared_ptr<const Source> read_recipe_file(const std::filesystem::path& path, const Origin& mentioned,
                                               Diagnostics& diagnostics);

}  // namespace runner
