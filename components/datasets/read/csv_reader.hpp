#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace runner {

struct CsvFormat {
  char separator = ',';
  bool trim = true;             // remove spaces around a value, unless they are in quotes
  std::string comment = {};     // lines that begin with it are skipped
  std::int64_t skip_lines = 0;  // at the beginning of the text
};

// Reads comma-separated values as in RFC 4180: quoted values may contain separators, line breaks and doubled
// quotes; lines end in LF, CRLF or CR. Blank lines and a byte order mark are skipped. The text is not copied.
// Throws IoError that names the file, the line and the column.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string file, CsvFormat format);

  bool next();  // to the next row; false: there is none
  // Of this row; valid until the next call of next().
  const std::vector<std::string_view>& values() const { return values_; }
  std::int64_t line() const { return row_line_; }  // where the row begins; the first is 1

  // From now on, every row must have a value for each of these.
  void expect(std::vector<std::string> columns);
  const std::vector<std::string>& columns() const { return columns_; }
  // IoError: file:line: column "name": why
  [[noreturn]] void fail(std::size_t column, const std::string& why) const;

 private:
  bool pass_line_without_values();
  void read_value();
  std::string_view quoted_value();
  std::string_view bare_value();
  void pass_spaces();
  bool at_line_end() const { return rest_.empty() || rest_[0] == '\n' || rest_[0] == '\r'; }
  void pass_line_end();
  void pass_separator_line();
  void require_all_columns() const;
  [[noreturn]] void fail_at(std::int64_t line, std::size_t column, const std::string& why) const;

  std::string file_;
  CsvFormat format_;
  std::string_view rest_;
  std::int64_t line_ = 1, row_line_ = 1;
  std::vector<std::string> columns_;
  bool first_row_ = true;  // after the header
  std::vector<std::string_view> values_;
  std::deque<std::string> unescaped_;  // values of this row that held doubled quotes
};

}  // namespace runner
