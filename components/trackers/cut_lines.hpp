#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "registry/files/lines.hpp"

namespace runner {

// Removes the lines at the end of a text file that are not kept. The lines must be in order: the file is read
// backwards, only as far as the last line that is kept. A line of which nothing is known, for example from an
// editor, is treated like the line before it. Lines before `begin` stay.
void cut_lines(const std::filesystem::path& path,
               const std::function<std::optional<bool>(const BackwardLines::Line& line)>& is_kept,
               std::uint64_t begin = 0);

}  // namespace runner
