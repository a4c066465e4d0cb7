#include "runner/terminal/grid.hpp"

#include <algorithm>

#include "runner/terminal/text.hpp"

namespace runner {

std::string grid(const std::vector<GridColumn>& columns, const std::vector<std::vector<std::string>>& rows,
                 const Style& style) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t width = visible_width(columns[i].name);
    for (const auto& row : rows) width = std::max(width, visible_width(row.at(i)));
    widths.push_back(width);
  }
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string cell = cell_of(i);
      const std::string space(widths[i] - visible_width(cell), ' ');
      text += (i > 0 ? "  " : "") + (columns[i].right ? space + cell : cell + space);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line([&](std::size_t i) { return style.bold(columns[i].name); });
  for (const auto& row : rows) text += line([&](std::size_t i) { return row[i]; });
  return text;
}

}  // namespace runner
