#include "runner/cli/starters/sheet.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "components/datasets/read/number.hpp"
#include "components/datasets/read/separator.hpp"
#include "registry/files/mapped_file.hpp"

namespace runner::cli {

namespace {

bool is_number(std::string_view text) { return parse_number(text) || other_notation(text); }

void add_number(std::string_view text, Column& column) {
  auto number = parse_number(text);
  if (!number) {
    const auto other = other_notation(text);
    if (!other) return;
    // "1,234" may be a notation that the other cells of the column do not have.
    if (!column.notation || !parse_number(text, *column.notation)) column.notation = other;
    number = parse_number(text, *column.notation);
  }
  ++column.numbers;
  column.fractions += number && std::isfinite(*number) && std::trunc(*number) != *number ? 1 : 0;
}

bool is_missing(std::string_view text) {
  return std::ranges::find(usual_missing, text) != usual_missing.end();
}

void add_row(const std::vector<std::string>& values, std::vector<Column>& columns) {
  for (std::size_t i = 0; i < std::min(columns.size(), values.size()); ++i) {
    const std::string& value = values[i];
    if (is_missing(value)) continue;
    Column& column = columns[i];
    ++column.values[value];
    ++column.filled;
    add_number(value, column);
    column.letters += value.size();
  }
}

// Hardly any value occurs only once, so a text that does not occur at all is not one of them.
bool repeats(const Column& column) {
  const auto single =
      std::ranges::count_if(column.values, [](const auto& value) { return value.second == 1; });
  return column.filled > 0 && single * 10 <= column.filled;
}

// Whether the first row, whose values are the names here, differs from the rows below it. Numbers may be
// names, too: pandas writes 0,1,2.
bool is_header(const std::vector<Column>& columns) {
  const auto any_text = [&](auto&& condition) {
    return std::ranges::any_of(columns, [&](const Column& column) {
      return !is_missing(column.name) && !is_number(column.name) && std::invoke(condition, column);
    });
  };
  if (any_text(&Column::numeric)) return true;
  if (any_text([](const Column& column) { return column.values.contains(column.name); })) return false;
  if (any_text(repeats)) return true;
  return std::ranges::none_of(columns, is_number, &Column::name);
}

}  // namespace

NumberFormat Sheet::notation() const {
  NumberFormat all;
  for (const Column& column : columns) {
    if (!column.numeric() || !column.notation) continue;
    if (column.notation->decimal != '.') all.decimal = column.notation->decimal;
    if (column.notation->thousands) all.thousands = column.notation->thousands;
    for (const std::string& unit : column.notation->units)
      if (std::ranges::find(all.units, unit) == all.units.end()) all.units.push_back(unit);
  }
  if (all.thousands == all.decimal) all.thousands = 0;
  return all;
}

Sheet look_at(const std::filesystem::path& file, const SheetFormat& format) {
  constexpr std::int64_t most_rows = 5000;
  const MappedFile mapped(file);
  const std::string_view text = mapped.text();
  CsvFormat csv{.comment = format.comment, .skip_lines = format.skip_lines};
  csv.separator = find_separator(text, {.csv = csv});
  Sheet sheet{csv.separator == '\t' ? "tab" : std::string(1, csv.separator)};
  CsvReader reader(text, file.string(), csv);
  const auto row = [&] { return std::vector<std::string>(reader.values().begin(), reader.values().end()); };
  if (!reader.next()) return sheet;
  const auto first = row();
  for (const std::string& value : first) sheet.columns.push_back({value});
  for (std::int64_t rows = 1; rows < most_rows && reader.next(); ++rows) add_row(row(), sheet.columns);
  sheet.header = format.header.value_or(is_header(sheet.columns));
  if (sheet.header) return sheet;
  for (std::size_t i = 0; i < first.size(); ++i) sheet.columns[i].name = "column" + std::to_string(i + 1);
  add_row(first, sheet.columns);
  return sheet;
}

}  // namespace runner::cli
