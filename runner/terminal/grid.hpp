#pragma once

#include <string>
#include <vector>

#include "runner/terminal/style.hpp"

namespace runner {

struct GridColumn {
  std::string name;
  bool right = false;  // for numbers
};

// Columns as wide as their contents, below a line with their names. Cells may hold colour codes.
std::string grid(const std::vector<GridColumn>& columns, const std::vector<std::vector<std::string>>& rows,
                 const Style& style);
std::size_t grid_width(const std::vector<GridColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows);

}  // namespace runner
