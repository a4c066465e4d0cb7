#pragma once

#include <vector>

#include "components/datasets/columns/learn_columns.hpp"
#include "components/datasets/columns/table_part.hpp"

namespace runner {

enum class ColumnRole { numeric, categorical, target, ignored };

// The role of each column: what the recipe says, or else what its values in the training set suggest. Throws
// IoError with the place and the remedy if they are neither clearly numbers nor clearly texts.
std::vector<ColumnRole> column_roles(const TablePart& training, const ColumnChoice& choice);

}  // namespace runner
