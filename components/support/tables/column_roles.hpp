#pragma once

#include <vector>

#include "components/support/tables/learn_columns.hpp"
#include "components/support/tables/table_part.hpp"

namespace runner {

enum class ColumnRole { numeric, categorical, target, ignored };

// The role of each column: what the recipe says, or else what its values in the training set suggest. Throws
// IoError with the place and the remedy if they are neither clearly numbers nor clearly texts.
std::vector<ColumnRole> column_roles(const TablePart& training, const ColumnChoice& choice);

}  // namespace runner
