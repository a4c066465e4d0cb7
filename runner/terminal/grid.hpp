#pragma once

#include <string>
#include <vector>

#include "runner/terminal/style.hpp"

namespace runner {

struct GridColumn {
  std::string name;
  bool right = false;  // numbers
};

// Columns as wide as what is in them; the names of the columns first. Cells may hold colour codes.
std::string grid(const std::vector<GridColumn>& columns, const std::vector<std::vector<std::string>>& rows,
                 const Style& style);
std::size_t grid_width(const std::vector<GridColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows);

}  // namespace runner
