#pragma once

#include <string>
#include <vector>

#include "components/datasets/columns/table_columns.hpp"
#include "components/datasets/columns/table_part.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

// What a recipe says about the columns; the roles of others are found from their values.
struct ColumnChoice {
  std::string target = {};
  bool regression = false;
  std::string trim_target = {};  // characters at the end of the target that are not part of it
  std::vector<std::string> numeric = {}, categorical = {}, ignore = {};
  bool standardize = true;
  bool standardize_target = true;  // only for regression
  bool indicators = false;
};

// Uses only the training set. Throws IoError with the place and the remedy. The columns of a run are saved as
// JSON: `most_bytes` is what can be read again.
TableColumns learn_columns(const TablePart& training, const ColumnChoice& choice,
                           std::size_t most_bytes = largest_json);

std::string_view without_ending(std::string_view value, std::string_view letters);

// Characters beyond ASCII count as letters.
bool has_letters_or_digits(std::string_view text);

// The class in a column of a row, without these letters at its end. Throws IoError with the place if this
// leaves nothing of it, or another number.
std::string_view class_in(const RowReader& row, std::size_t column, std::string_view trimmed);

// The index of the column; throws IoError with a suggestion if there is none.
std::size_t find_column(const std::vector<std::string>& columns, const std::string& wanted,
                        const std::string& file);

}  // namespace runner
