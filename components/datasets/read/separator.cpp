#include "components/datasets/read/separator.hpp"

#include <algorithm>
#include <tuple>

#include "registry/files/io_error.hpp"
#include "registry/files/json_lines.hpp"

namespace runner {

namespace {

constexpr int rows = 20;
// A value with an unclosed quote reaches to the end of the text, so the text is limited, too. Tables of
// measurements may have rows of a megabyte.
constexpr std::size_t looked_at = std::size_t{16} << 20;  // bytes

// The result of reading the first rows with one separator.
struct Reading {
  std::size_t columns = 0;  // of the first row
  bool regular = true;      // every row has that many
  double numbers = 0;       // share of the columns with only numbers below the first row
};

bool is_number(std::string_view text) { return parse_number(text) || other_notation(text); }

Reading read_with(std::string_view text, const TableFormat& format) {
  Reading read;
  std::vector<bool> numeric;
  try {
    CsvReader reader(text, "", format.csv);
    for (int row = 0; row < rows && reader.next(); ++row) {
      const auto& values = reader.values();
      if (row == 0) {
        read.columns = values.size();
        continue;
      }
      read.regular = read.regular && values.size() == read.columns;
      numeric.resize(read.columns, true);
      for (std::size_t i = 0; i < std::min(values.size(), read.columns); ++i)
        numeric[i] = numeric[i] && (format.is_missing(values[i]) || is_number(values[i]));
    }
  } catch (const IoError&) {
    read.regular = false;
  }
  if (read.columns > 0)
    read.numbers = static_cast<double>(std::ranges::count(numeric, true)) / static_cast<double>(read.columns);
  return read;
}

}  // namespace

char find_separator(std::string_view text, TableFormat format) {
  if (text.size() > looked_at) {
    const std::size_t line_end = text.find_last_of("\r\n", looked_at);
    if (line_end != text.npos) text = text.substr(0, line_end + 1);
  }
  char best = ',';
  Reading best_reading;
  for (const char candidate : {',', ';', '\t', '|'}) {
    format.csv.separator = candidate;
    const Reading reading = read_with(text, format);
    if (!format.columns.empty() && reading.regular && reading.columns == format.columns.size())
      return candidate;
    const auto merit = [](const Reading& one) {
      const bool regular = one.regular && one.columns > 1;
      return std::tuple(regular, regular ? one.numbers : static_cast<double>(one.columns));
    };
    if (reading.columns > 1 && merit(reading) > merit(best_reading)) {
      best = candidate;
      best_reading = reading;
    }
  }
  return best;
}

char separator_of_file(const std::filesystem::path& file, const TableFormat& format) {
  const FileText content(file);
  require_text(content.text(), file);
  return is_json_lines(content.text()) ? ',' : find_separator(content.text(), format);
}

}  // namespace runner
