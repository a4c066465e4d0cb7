#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string_view>

namespace runner {

struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a file of JSON may ask of us. A value takes up to a hundred bytes of memory, so their number is
// limited before any is made; readers call themselves for what is nested.
constexpr std::size_t deepest_json = 64, most_json_values = 6'000'000, largest_json = 256u << 20;

// The line and column of a byte, for messages: "line 3, column 7".
std::string json_place(std::string_view text, std::size_t byte);

// Throws JsonError that goes on after "..cannot be read: ": "it is not valid JSON (line 3, column 7)".
void check_json_limits(std::string_view text, std::size_t most_values = most_json_values);
nlohmann::json read_json(std::string_view text);
nlohmann::json read_json_file(const std::filesystem::path& path);  // names the file, too

// For what a run has written and may be missing or cut off: null where it cannot be read.
nlohmann::json read_json_or_null(std::string_view text);
nlohmann::json read_json_file_or_null(const std::filesystem::path& path);
// The same with keys in the order of the file; of few values, because each key is looked for among the
// others.
nlohmann::ordered_json read_ordered_json_file_or_null(const std::filesystem::path& path);

}  // namespace runner
