#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "components/support/tables/table_columns.hpp"
#include "components/support/tables/table_part.hpp"

namespace runner {

// Rows as numbers, one after the other.
struct EncodedRows {
  std::vector<float> numbers = {};        // standardised, followed by the indicators
  std::vector<std::int32_t> ids = {};     // of categories
  std::vector<std::int32_t> labels = {};  // of classes,
  std::vector<float> values = {};         // or what is to be predicted
  std::vector<std::int64_t> gaps = {};    // in each numeric column, then in each categorical one
  std::int64_t size = 0;
};

// Turns rows of any file with these columns, in any order, into numbers. Throws IoError with the place.
class RowEncoder {
 public:
  RowEncoder(const TableColumns& columns, const TableFormat& format, std::string trim_target);

  // For rows with these columns; the target may be absent where none is asked for.
  void begin(const std::vector<std::string>& given, const std::string& file, bool with_target);
  void add(const CsvReader& row, EncodedRows& rows) const;

 private:
  using Ids = std::map<std::string, std::int32_t, std::less<>>;
  void add_target(const CsvReader& row, EncodedRows& rows) const;
  [[noreturn]] void fail_unknown(const CsvReader& row, std::string_view value) const;

  TableColumns columns_;
  TableFormat format_;
  std::string trim_target_;
  std::vector<Ids> ids_;  // of each categorical column
  Ids labels_;
  std::vector<std::size_t> numeric_, categorical_;  // where they are in a row
  std::optional<std::size_t> target_;
};

EncodedRows encode(const TablePart& part, const TableColumns& columns, const std::string& trim_target);

}  // namespace runner
