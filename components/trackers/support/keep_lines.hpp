#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace runner {

// Drops the other lines of a text file, in one move: a reader finds the old file or the new one.
void keep_lines(const std::filesystem::path& path, std::function<bool(std::string_view line)> wanted);

// Cuts off unwanted lines at the end of a text file. Reads it backwards, and no further than to the first
// wanted line: for files whose lines are in order, however long they are. Lines before `begin` stay.
void cut_lines(const std::filesystem::path& path, const std::function<bool(std::string_view line)>& wanted,
               std::uint64_t begin = 0);

// The integer that a text starts with; the smallest of all if there is none.
std::int64_t leading_integer(std::string_view text);

}  // namespace runner
