#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

namespace runner {

// Cuts off the lines at the end of a text file whose steps are not kept. Reads it backwards, and no further
// than to the first line that is kept: for files whose lines are in order, however long they are. A line
// without a step, as of somebody who edited the file, goes with the one before it. Lines before `begin` stay.
void cut_lines(const std::filesystem::path& path,
               const std::function<std::optional<std::int64_t>(std::string_view line)>& step_of,
               const std::function<bool(std::int64_t step)>& is_kept, std::uint64_t begin = 0);

// The integer that a text starts with.
std::optional<std::int64_t> leading_integer(std::string_view text);

}  // namespace runner
