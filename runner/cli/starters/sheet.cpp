#include "runner/cli/starters/sheet.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "components/datasets/columns/table_part.hpp"
#include "components/datasets/read/file_text.hpp"
#include "components/datasets/read/json_rows.hpp"
#include "components/datasets/read/separator.hpp"
#include "registry/files/io_error.hpp"

namespace runner::cli {

namespace {

bool is_number(std::string_view text) { return parse_number(text) || other_notation(text); }

const TableFormat& usual_format() {
  static const TableFormat format{.missing = {usual_missing.begin(), usual_missing.end()},
                                  .usual_marks = true};
  return format;
}

bool is_missing(std::string_view text) { return usual_format().is_missing(text); }

void add_row(const std::vector<std::string_view>& values, std::vector<Column>& columns) {
  for (std::size_t i = 0; i < std::min(columns.size(), values.size()); ++i) {
    const std::string_view value = values[i];
    if (is_missing(value)) continue;
    Column& column = columns[i];
    auto known = column.values.find(value);
    if (known == column.values.end()) known = column.values.emplace(value, 0).first;
    ++known->second;
    ++column.filled;
    column.letters += value.size();
    if (usual_format().is_missing_number(value)) {
      ++column.marks;
    } else {
      column.notation.add(value);
    }
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

void find_notation(Sheet& sheet, char separator) {
  std::vector<const ColumnNotation*> notations;
  for (const Column& column : sheet.columns) notations.push_back(&column.notation);
  const TableNotation table(notations, separator);
  sheet.numbers = table.format();
  if (!table.sure()) sheet.ambiguous = table.example();
  for (Column& column : sheet.columns) {
    const bool fits = std::ranges::all_of(column.values, [&](const auto& value) {
      return usual_format().is_missing_number(value.first) || parse_number(value.first, sheet.numbers);
    });
    const NumberFormat format = fits ? sheet.numbers : column.notation.format();
    for (const auto& [value, count] : column.values) {
      const auto number = parse_number(value, format);
      if (number && std::isfinite(*number) && std::trunc(*number) != *number) column.fractions += count;
    }
  }
}

std::size_t filled(const RowReader& row) {
  return static_cast<std::size_t>(
      std::ranges::count_if(row.values(), [](std::string_view value) { return !value.empty(); }));
}

// Lines before the table, such as a title: they fill one column, or far fewer than the two rows after them.
std::int64_t lines_before_table(std::string_view text, CsvFormat format) {
  constexpr std::int64_t most_lines = 10;
  std::size_t before = 0;
  for (format.skip_lines = 0; format.skip_lines <= most_lines; ++format.skip_lines) {
    format.separator = find_separator(text, {.csv = format});
    try {
      CsvReader rows(text, "", format);
      if (!rows.next()) return 0;
      const std::size_t first = filled(rows), width = rows.values().size();
      const bool is_table = width > 1 && first > 1 && rows.next() && rows.values().size() == width;
      if (format.skip_lines == 0) before = first;
      if (is_table)
        return format.skip_lines == 0 || before <= 1 || 3 * before <= width ? format.skip_lines : 0;
    } catch (const IoError&) {
      return 0;
    }
  }
  return 0;
}

void add_rows(RowReader& reader, std::size_t size, Sheet& sheet) {
  constexpr std::int64_t most_rows = 5000;
  std::size_t bytes = 0;
  for (; sheet.rows < most_rows && reader.next(); ++sheet.rows) {
    add_row(reader.values(), sheet.columns);
    for (const std::string_view value : reader.values()) bytes += value.size() + 1;
  }
  if (sheet.rows == most_rows) sheet.rows = static_cast<std::int64_t>(size * most_rows / bytes);
}

Sheet look_at_json(std::string_view text, const std::filesystem::path& file) {
  Sheet sheet{.separator = ",", .json = true};
  JsonRows reader(text, file.string());
  for (const std::string& name : reader.columns()) sheet.columns.push_back({name});
  add_rows(reader, text.size(), sheet);
  find_notation(sheet, ',');
  return sheet;
}

}  // namespace

Sheet look_at(const std::filesystem::path& file, const SheetFormat& format) {
  const FileText content(file);
  const std::string_view text = content.text();
  require_text(text, file);
  if (is_json_lines(text)) return look_at_json(text, file);
  CsvFormat csv{.comment = format.comment};
  csv.skip_lines = format.skip_lines.value_or(format.comment.empty() ? lines_before_table(text, csv) : 0);
  csv.separator = find_separator(text, {.csv = csv});
  Sheet sheet{csv.separator == '\t' ? "tab" : std::string(1, csv.separator)};
  if (!format.skip_lines) sheet.skip_lines = csv.skip_lines;
  CsvReader reader(text, file.string(), csv);
  if (!reader.next()) return sheet;
  const std::vector<std::string> first(reader.values().begin(), reader.values().end());
  for (const std::string& value : first) sheet.columns.push_back({value});
  add_rows(reader, text.size(), sheet);
  sheet.header = format.header.value_or(is_header(sheet.columns));
  if (!sheet.header) {
    for (std::size_t i = 0; i < first.size(); ++i) sheet.columns[i].name = "column" + std::to_string(i + 1);
    add_row({first.begin(), first.end()}, sheet.columns);
    ++sheet.rows;
  }
  find_notation(sheet, csv.separator);
  return sheet;
}

}  // namespace runner::cli
