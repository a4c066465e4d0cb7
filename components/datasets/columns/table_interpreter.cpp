#include "components/datasets/columns/table_interpreter.hpp"

#include <algorithm>

#include "components/datasets/read/json_rows.hpp"
#include "components/datasets/read/number.hpp"
#include "components/datasets/read/read_all.hpp"
#include "components/datasets/read/separator.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

namespace {

std::vector<std::string> first_row(std::string_view text, const std::string& file,
                                   const TableFormat& format) {
  CsvReader reader(text, file, format.csv);
  reader.next();
  return {reader.values().begin(), reader.values().end()};
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// If the recipe names the columns, a file may still begin with a header, of these or of other names. It may
// also lack the target, as the number of values shows.
void adapt_to(const std::vector<std::string>& first, const std::string& target, TableFormat& format) {
  const auto names_column = [&](const std::string& value) { return has(format.columns, value); };
  const bool complete = first.size() + 1 >= format.columns.size();
  if (!format.header && complete && std::ranges::all_of(first, names_column)) {
    format.header = true;
    format.columns.clear();
  } else if (first.size() + 1 == format.columns.size()) {
    std::erase(format.columns, target);
  }
}

// Whether the first row holds values, not names: it has numbers in the numeric columns, or known categories.
bool is_row(const std::vector<std::string>& first, const std::vector<std::string>& names,
            const TableColumns& columns, const TableFormat& format) {
  if (first.size() != names.size()) return false;
  if (std::ranges::any_of(first, [&](const std::string& value) { return has(names, value); })) return false;
  const auto value_of = [&](const std::string& name) -> const std::string& {
    return first[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())];
  };
  std::size_t values = 0;
  for (const NumericColumn& column : columns.numeric) {
    const std::string& value = value_of(column.name);
    if (format.is_missing_number(value)) continue;
    if (!parse_number(value, format.numbers)) return false;
    ++values;
  }
  for (const CategoricalColumn& column : columns.categorical)
    values += has(column.values, value_of(column.name));
  return values > 0;
}

}  // namespace

Batch TableInterpreter::read(std::span<const std::string> inputs) const {
  EncodedRows rows;
  try {
    for (const std::string& input : inputs) {
      std::error_code not_a_file;  // the values of a row may be longer than any file name
      std::filesystem::is_regular_file(input, not_a_file) ? add_file(input, rows) : add_row(input, rows);
    }
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
  return read_all(TableSplit(columns_, how_, std::move(rows)));
}

// A file may differ from the training file: another separator, no header, no target.
TableFormat TableInterpreter::format_for(const std::string& file) const {
  TableFormat format = format_;
  const FileText content(file);
  require_text(content.text(), file);
  if (is_json_lines(content.text())) return format;
  std::vector<std::string> first = first_row(content.text(), file, format);
  if (first.size() == 1 && columns_.file.size() > 2) {
    format.csv.separator = find_separator(content.text(), format);
    first = first_row(content.text(), file, format);
  }
  std::vector<std::string> names = columns_.file;
  if (first.size() + 1 == names.size()) std::erase(names, columns_.target);
  if (is_row(first, names, columns_, format)) {
    format.header = false;
    format.columns = std::move(names);
  } else if (!format.columns.empty()) {
    adapt_to(first, columns_.target, format);
  }
  return format;
}

void TableInterpreter::add_file(const std::string& file, EncodedRows& rows) const {
  const TableFormat format = format_for(file);
  const TablePart part(file, format);
  RowEncoder encoder(columns_, format, "");
  encoder.begin(part.columns(), file, /*with_target=*/false);
  part.each([&](const RowReader& row) { encoder.add(row, rows); });
}

void TableInterpreter::add_row(const std::string& text, EncodedRows& rows) const {
  const std::string name = "row " + in_quotes(text);
  if (is_json_lines(text)) {
    JsonRows row(text, name);
    return add_single(row, text, rows);
  }
  CsvReader row(text, name, format_.csv);
  std::vector<std::string> names = columns_.file;
  const bool found = row.next();
  if (row.values().size() + 1 == names.size()) std::erase(names, columns_.target);
  if (!found || row.values().size() != names.size()) {
    throw IoError(
        log::format("{} is neither a file nor a row: a row has {} values "
                    "separated by \"{}\", one for each column but the target.",
                    in_quotes(text), columns_.file.size() - 1, format_.csv.separator));
  }
  CsvReader named(text, name, format_.csv);
  named.expect(names);
  add_single(named, text, rows);
}

void TableInterpreter::add_single(RowReader& row, const std::string& text, EncodedRows& rows) const {
  RowEncoder encoder(columns_, is_json_lines(text) ? format_.with_null() : format_, "");
  encoder.begin(row.columns(), "The row", /*with_target=*/false);
  row.next();
  encoder.add(row, rows);
  if (row.next()) {
    throw IoError(in_quotes(text) +
                  " holds more than one row: give each row as an input of its own, or all in a file.");
  }
}

}  // namespace runner
