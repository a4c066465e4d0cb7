#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runner/cli/starters/sheet.hpp"
#include "runner/cli/starters/starting_point.hpp"

namespace runner::cli {

// A recipe for each task of `runner new --task`, made for the user's files.
using Found = std::variant<StartingPoint, Problem>;
Found start_from_images(const std::filesystem::path& data);
Found start_from_table(const std::filesystem::path& data, const std::vector<std::string>& typed);
Found start_from_sentences(const std::filesystem::path& data, const std::vector<std::string>& typed);
Found start_from_text(const std::filesystem::path& data, const std::vector<std::string>& typed);

// What they share.

// What the recipe on the command line says about the data. Mistakes are reported when it is resolved.
struct Typed {
  SheetFormat format = {};
  std::string target = {}, text = {}, label = {};
};

Typed typed_settings(const std::vector<std::string>& typed);

std::string setting(const std::string& key, const std::string& value);  // an override
std::string list_of(const std::vector<std::string>& texts);             // in TOML
std::string names_of(const std::vector<Column>& columns);
std::string full_path(const std::filesystem::path& path);
// Files or folders that are not hidden, sorted.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder, bool folders);
const Column* column_called(const Sheet& sheet, std::initializer_list<std::string_view> names);

// What is said about lines before the table, and about a table without names of columns.
void say_lines(const std::filesystem::path& data, const Sheet& sheet, StartingPoint& start);
// Refuses values such as "red|blue" beside "red": several labels, which are not classes of their own.
std::optional<Problem> several_labels(const Column& label);
// A run of few steps looks broken, whatever the data: small sets need more epochs and smaller batches.
void choose_length(std::int64_t examples, std::int64_t steps, std::int64_t batch, std::int64_t epochs,
                   StartingPoint& start);

}  // namespace runner::cli
