#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

namespace runner {

// Removes the lines at the end of a text file whose steps are not kept. The lines must be in order: the file
// is read backwards, only as far as the last line that is kept. A line without a step, for example from an
// editor, is treated like the line before it. Lines before `begin` stay.
void cut_lines(const std::filesystem::path& path,
               const std::function<std::optional<std::int64_t>(std::string_view line)>& step_of,
               const std::function<bool(std::int64_t step)>& is_kept, std::uint64_t begin = 0);

// The integer that a text starts with.
std::optional<std::int64_t> leading_integer(std::string_view text);

}  // namespace runner
