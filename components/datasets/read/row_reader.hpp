#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace runner {

// Reads the rows of a table one after the other, each value as text. What fails throws IoError that names the
// file, the line and the column.
class RowReader {
 public:
  explicit RowReader(std::string file) : file_(std::move(file)) {}
  virtual ~RowReader() = default;

  virtual bool next() = 0;  // to the next row; false: there is none
  // Of this row, one for each column; valid until the next call of next().
  const std::vector<std::string_view>& values() const { return values_; }
  std::int64_t line() const { return row_line_; }  // where the row begins; the first is 1

  const std::vector<std::string>& columns() const { return columns_; }
  // IoError: file:line: column "name": why
  [[noreturn]] void fail(std::size_t column, const std::string& why) const {
    fail_at(row_line_, column, why);
  }

 protected:
  [[noreturn]] void fail_at(std::int64_t line, std::size_t column, const std::string& why) const;

  std::string file_;
  std::int64_t row_line_ = 1;
  std::vector<std::string> columns_ = {};
  std::vector<std::string_view> values_ = {};
};

}  // namespace runner
