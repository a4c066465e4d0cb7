#include "components/datasets/read/json_rows.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_columns = 20'000;

// {"version": 1, "data": [{..}, ..]}: the rows are one level deeper.
void require_rows(const Json& only, const std::string& file) {
  for (const auto& [key, value] : only.items()) {
    if (!value.is_array() || value.empty() || !value.front().is_object()) continue;
    throw IoError(file + " is a single object, and its rows are in " + in_quotes(key) +
                  ". Extract them: jq -c '.[" + in_quotes(key) + "][]' " + file + " > rows.jsonl");
  }
}

std::vector<std::string> columns_in(std::string_view text, const std::string& file) {
  JsonLines lines(text, file);
  std::vector<std::string> columns;
  std::unordered_set<std::string> known;
  std::int64_t rows = 0;
  Json first;
  while (lines.next()) {
    if (++rows == 1) first = lines.object();
    for (const auto& [key, value] : lines.object().items()) {
      if (known.insert(key).second) columns.push_back(key);
    }
    if (columns.size() > most_columns)
      throw IoError(file + ":" + std::to_string(lines.line()) + ": the rows have more than " +
                    std::to_string(most_columns) + " different keys.");
  }
  if (rows == 1) require_rows(first, file);
  if (columns.empty()) throw IoError(file + " has no rows.");
  return columns;
}

std::string text_of(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

JsonRows::JsonRows(std::string_view text, const std::string& file, std::vector<std::string> columns)
    : RowReader(file), lines_(text, file) {
  columns_ = columns.empty() ? columns_in(text, file) : std::move(columns);
}

bool JsonRows::next() {
  if (!lines_.next()) return false;
  row_line_ = lines_.line();
  texts_.assign(columns_.size(), "");
  values_.assign(columns_.size(), "");
  const Json& object = lines_.object();
  std::size_t expected = 0;  // keys are mostly in the same order
  for (const auto& [key, value] : object.items()) {
    std::size_t place = expected;
    if (place >= columns_.size() || columns_[place] != key)
      place = static_cast<std::size_t>(std::ranges::find(columns_, key) - columns_.begin());
    if (place == columns_.size()) continue;  // only if the columns were given
    expected = place + 1;
    if (const auto* text = value.get_ptr<const std::string*>()) {
      values_[place] = *text;
    } else {
      texts_[place] = text_of(value);
      values_[place] = texts_[place];
    }
  }
  return true;
}

}  // namespace runner
