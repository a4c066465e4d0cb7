#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "components/datasets/columns/table_columns.hpp"
#include "components/datasets/columns/table_part.hpp"

namespace runner {

// Rows as numbers, row after row.
struct EncodedRows {
  std::vector<float> numbers = {};         // standardised, followed by the indicators
  std::vector<std::int32_t> ids = {};      // of categories
  std::vector<std::int32_t> labels = {};   // targets: class indices,
  std::vector<float> values = {};          // or numbers to predict
  std::vector<std::int64_t> gaps = {};     // missing values in each numeric, then in each categorical column
  std::vector<std::int64_t> unknown = {};  // values in each categorical column that it did not learn
  std::int64_t size = 0;
};

// Converts rows of any file with these columns, in any order, to numbers. Throws IoError with the place.
class RowEncoder {
 public:
  RowEncoder(const TableColumns& columns, const TableFormat& format, std::string trim_target);

  // Call it before the rows of a file, with its columns; the target is only needed if `with_target`.
  void begin(const std::vector<std::string>& given, const std::string& file, bool with_target);
  void add(const RowReader& row, EncodedRows& rows) const;

 private:
  using Ids = std::map<std::string, std::int32_t, std::less<>>;
  void add_target(const RowReader& row, EncodedRows& rows) const;
  [[noreturn]] void fail_unknown(const RowReader& row, std::string_view value) const;
  std::string remedy_for_unknown(std::string_view value) const;

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
