#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "components/datasets/read/row_reader.hpp"

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
class CsvReader final : public RowReader {
 public:
  CsvReader(std::string_view text, std::string file, CsvFormat format);

  bool next() override;

  // From now on, every row must have a value for each of these.
  void expect(std::vector<std::string> columns);

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

  CsvFormat format_;
  std::string_view rest_;
  std::int64_t line_ = 1;
  bool first_row_ = true;              // after the header
  std::deque<std::string> unescaped_;  // values of this row that held doubled quotes
};

}  // namespace runner
