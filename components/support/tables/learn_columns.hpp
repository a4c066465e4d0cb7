#pragma once

#include <string>
#include <vector>

#include "components/support/tables/table_columns.hpp"
#include "components/support/tables/table_part.hpp"

namespace runner {

// What a recipe says about the columns; those it does not mention are looked at.
struct ColumnChoice {
  std::string target = {};
  bool regression = false;
  std::string trim_target = {};  // characters at the end of the target that are no part of it
  std::vector<std::string> numeric = {}, categorical = {}, ignore = {};
  bool standardize = true;
  bool standardize_target = true;  // where it is a number
  bool indicators = false;
};

// From the training part alone. Throws IoError with the place and the remedy.
TableColumns learn_columns(const TablePart& training, const ColumnChoice& choice);

std::string_view without_ending(std::string_view value, std::string_view letters);

// Where the column is; throws IoError that says what was probably meant.
std::size_t find_column(const std::vector<std::string>& columns, const std::string& wanted,
                        const std::string& file);

}  // namespace runner
