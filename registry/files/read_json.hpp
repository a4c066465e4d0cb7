#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string_view>

namespace runner {

struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Limits for JSON files. A value takes up to a hundred bytes of memory, so their number is checked before any
// is created; code that reads them recurses into nested values, so the depth is limited, too.
constexpr std::size_t deepest_json = 64, most_json_values = 6'000'000, largest_json = 256u << 20;

// The line and column of a byte, for messages: "line 3, column 7".
std::string json_place(std::string_view text, std::size_t byte);

// Throw JsonError, which completes "Cannot read ..: ", such as "it is not valid JSON (line 3, column 7)".
void check_json_limits(std::string_view text, std::size_t most_values = most_json_values);
nlohmann::json read_json(std::string_view text);
nlohmann::json read_json_file(const std::filesystem::path& path);  // a sentence that names the file

// For files of a run that may be missing or truncated: null if it cannot be read.
nlohmann::json read_json_or_null(std::string_view text);
nlohmann::json read_json_file_or_null(const std::filesystem::path& path);
// The same with keys in the order of the file, for files with few values: each new key is compared with all
// others.
nlohmann::ordered_json read_ordered_json_file_or_null(const std::filesystem::path& path);

}  // namespace runner
