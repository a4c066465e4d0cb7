#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "components/datasets/read/csv_reader.hpp"
#include "components/datasets/read/file_text.hpp"
#include "components/datasets/read/number.hpp"

namespace runner {

// What means a missing value in any column: what pandas takes for one, and "?".
inline constexpr std::array<std::string_view, 19> usual_missing{
    "",     "?",    "NA",  "N/A",  "n/a",      "NaN",    "nan",     "-NaN",    "-nan",    "null",
    "NULL", "<NA>", "#NA", "#N/A", "#N/A N/A", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"};

// The format of a table.
struct TableFormat {
  CsvFormat csv = {};
  bool header = true;                       // the first row names the columns
  std::vector<std::string> columns = {};    // their names; empty: those in the header
  std::vector<std::string> missing = {""};  // texts that mean a missing value
  bool usual_marks = false;                 // in columns of numbers also "-", "None", "ND" ..
  NumberFormat numbers = {};

  // A value of spaces alone, of any kind, is empty.
  bool is_missing(std::string_view value) const;
  bool is_missing_number(std::string_view value) const;
  TableFormat with_null() const;  // for JSON, whose null is an empty value
};

// A reader for the rows after the header, or for the objects of JSON lines, whose columns save a pass if they
// are known. Throws IoError if the header is missing or malformed.
std::unique_ptr<RowReader> table_rows(std::string_view text, const std::string& name,
                                      const TableFormat& format, const std::vector<std::string>& known = {});

// All or some of the rows of a file, which stays on disk unless it is compressed.
class TablePart {
 public:
  TablePart(const std::filesystem::path& file, const TableFormat& format);

  const std::vector<std::string>& columns() const { return columns_; }
  const TableFormat& format() const { return format_; }
  std::string name() const { return file_->path().string(); }
  std::int64_t size() const { return size_; }
  std::int64_t rows_in_file() const { return chosen_.empty() ? size_ : std::ssize(chosen_); }
  void each(const std::function<void(const RowReader& row)>& see) const;

  // Splits it in two, the second with this share of the rows, chosen at random. If a column is given, with
  // this share of the rows of each of its values; a value that occurs only once stays in the first part.
  std::pair<TablePart, TablePart> split(double share, std::uint64_t seed,
                                        std::optional<std::size_t> by = {}) const;

 private:
  TablePart(const TablePart& whole, std::vector<bool> chosen);

  std::shared_ptr<const FileText> file_;
  TableFormat format_;
  std::vector<std::string> columns_;
  std::vector<bool> chosen_;  // by row; empty: all
  std::int64_t size_ = 0;
};

}  // namespace runner
