#include "runner/cli/sheet.hpp"

#include "components/support/io/mapped_file.hpp"
#include "components/support/tables/number.hpp"
#include "components/support/tables/separator.hpp"

namespace runner::cli {

namespace {

bool has_decimal_comma(std::string_view text) {
  return !parse_number(text) && parse_number(text, {.decimal = ','});
}

bool is_number(std::string_view text) { return parse_number(text) || has_decimal_comma(text); }

}  // namespace

Sheet look_at(const std::filesystem::path& file) {
  constexpr std::int64_t most_rows = 5000;
  const MappedFile mapped(file);
  const std::string_view text = mapped.text();
  const char separator = find_separator(text, {});
  Sheet sheet{separator == '\t' ? "tab" : std::string(1, separator)};
  CsvReader reader(text, file.string(), {.separator = separator});
  for (std::int64_t row = 0; row < most_rows && reader.next(); ++row) {
    if (row == 0) {
      sheet.header = std::ranges::none_of(reader.values(), is_number);
      for (std::size_t i = 0; i < reader.values().size(); ++i)
        sheet.columns.push_back(
            {sheet.header ? std::string(reader.values()[i]) : "column" + std::to_string(i + 1)});
      if (sheet.header) continue;
    }
    for (std::size_t i = 0; i < std::min(sheet.columns.size(), reader.values().size()); ++i) {
      const std::string_view value = reader.values()[i];
      if (value.empty()) continue;
      Column& column = sheet.columns[i];
      ++column.values[std::string(value)];
      ++column.filled;
      column.numbers += is_number(value) ? 1 : 0;
      column.decimal_commas += has_decimal_comma(value) ? 1 : 0;
      column.letters += value.size();
    }
  }
  return sheet;
}

}  // namespace runner::cli
