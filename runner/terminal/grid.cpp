#include "runner/terminal/grid.hpp"

#include <algorithm>
#include <numeric>

#include "runner/terminal/text.hpp"

namespace runner {

namespace {

std::vector<std::size_t> widths_of(const std::vector<GridColumn>& columns,
                                   const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t width = visible_width(columns[i].name);
    for (const auto& row : rows) width = std::max(width, visible_width(row.at(i)));
    widths.push_back(width);
  }
  return widths;
}

constexpr std::string_view gap = "  ";

}  // namespace

std::size_t grid_width(const std::vector<GridColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows) {
  const auto widths = widths_of(columns, rows);
  return std::accumulate(widths.begin(), widths.end(),
                         gap.size() * (std::max<std::size_t>(1, widths.size()) - 1));
}

std::string grid(const std::vector<GridColumn>& columns, const std::vector<std::vector<std::string>>& rows,
                 const Style& style) {
  const auto widths = widths_of(columns, rows);
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string cell = cell_of(i);
      const std::string space(widths[i] - visible_width(cell), ' ');
      text += std::string(i > 0 ? gap : "") + (columns[i].right ? space + cell : cell + space);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line([&](std::size_t i) { return style.bold(columns[i].name); });
  for (const auto& row : rows) text += line([&](std::size_t i) { return row[i]; });
  return text;
}

}  // namespace runner
