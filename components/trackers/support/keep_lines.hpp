#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace runner {

// Drops the other lines of a text file, in one move: whoever reads it finds the old file or the new one.
void keep_lines(const std::filesystem::path& path, std::function<bool(std::string_view line)> wanted);

// The whole number that a text begins with; the smallest of all where it begins with none.
std::int64_t leading_integer(std::string_view text);

}  // namespace runner
