#include "runner/terminal/plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "runner/terminal/format.hpp"

namespace runner {
namespace {

using Points = std::vector<std::pair<double, double>>;

struct Range {
  double low, high;

  // From 0 to 1; in an empty range everything is in the middle.
  double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

// A grid of dots, several to a character.
class Dots {
 public:
  Dots(int columns, int rows, bool braille)
      : across_(braille ? 2 : 1),
        down_(braille ? 4 : 1),
        columns_(columns),
        rows_(rows),
        braille_(braille),
        cells_(static_cast<std::size_t>(columns * rows)) {}

  int width() const { return columns_ * across_; }
  int height() const { return rows_ * down_; }

  void set(int x, int y) {
    // Braille numbers its dots down the left column, down the right one, and then the bottom row.
    static constexpr std::uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    auto& cell = cells_[static_cast<std::size_t>(y / down_ * columns_ + x / across_)];
    cell = static_cast<std::uint8_t>(cell | bits[y % down_][x % across_]);
  }

  // Draws from one dot column to the next; each of the two fills the nearer half of the gap in height.
  void connect(int x, int from, int to) {
    const int step = to > from ? 1 : -1;
    for (int y = from + step; y != to && from != to; y += step) {
      const bool nearer_from = std::abs(y - from) < std::abs(y - to);
      set(nearer_from ? x : x + 1, y);
    }
    set(x + 1, to);
  }

  std::string row(int row) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
      const std::uint8_t cell = cells_[static_cast<std::size_t>(row * columns_ + column)];
      if (cell == 0) {
        text += ' ';
      } else if (!braille_) {
        text += '*';
      } else {  // U+2800 and the dots
        text += '\xe2';
        text += static_cast<char>(0xa0 | cell >> 6);
        text += static_cast<char>(0x80 | (cell & 0x3f));
      }
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

 private:
  int across_, down_, columns_, rows_;
  bool braille_;
  std::vector<std::uint8_t> cells_;
};

Points drawable(std::span<const std::pair<double, double>> points) {
  Points finite;
  for (const auto& point : points) {
    if (std::isfinite(point.first) && std::isfinite(point.second)) finite.push_back(point);
  }
  return finite;
}

// The mean of each dot column; none if no point falls into it.
std::vector<std::optional<double>> column_means(const Points& points, Range x, int width) {
  std::vector<double> sums(static_cast<std::size_t>(width)), counts(sums);
  for (const auto& [at, value] : points) {
    const auto column = static_cast<std::size_t>(std::lround(x.share(at) * (width - 1)));
    sums[column] += value;
    counts[column] += 1;
  }
  std::vector<std::optional<double>> means(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (counts[i] > 0) means[i] = sums[i] / counts[i];
  }
  return means;
}

// Straight lines over the columns that no point fell into.
void fill_gaps(std::vector<std::optional<double>>& means) {
  std::size_t before = 0;
  for (std::size_t i = 1; i < means.size(); ++i) {
    if (!means[i]) continue;
    const double from = *means[before], rise = *means[i] - from;
    for (std::size_t gap = before + 1; gap < i; ++gap) {
      means[gap] = from + rise * static_cast<double>(gap - before) / static_cast<double>(i - before);
    }
    before = i;
  }
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// The ends of the axis, and its unit if there is room.
std::string axis_labels(const std::string& low, const std::string& high, const std::string& what,
                        std::size_t width) {
  const std::string full = what.empty() ? high : high + " " + what;
  const std::string& right = low.size() + 1 + full.size() <= width ? full : high;
  if (low.size() + 1 + right.size() > width) return right_aligned(right, width);
  return low + right_aligned(right, width - low.size());
}

}  // namespace

std::string plot(std::span<const std::pair<double, double>> points, const PlotOptions& options) {
  const Points finite = drawable(points);
  if (finite.size() < 2 || finite.front().first >= finite.back().first) return "";
  const Range x{finite.front().first, finite.back().first};

  constexpr int label_room = 9, least_columns = 10;
  const int columns = std::max(least_columns, options.width - label_room - 2),
            rows = std::max(2, options.height);
  Dots dots(columns, rows, options.utf8);
  auto means = column_means(finite, x, dots.width());
  fill_gaps(means);
  const auto [low, high] = std::ranges::minmax(means, {}, [](const auto& mean) { return *mean; });
  const Range y{*low, *high};
  const auto height_of = [&](const std::optional<double>& mean) {
    return static_cast<int>(std::lround((1 - y.share(*mean)) * (dots.height() - 1)));
  };
  dots.set(0, height_of(means[0]));
  for (int column = 0; column + 1 < dots.width(); ++column) {
    const auto at = static_cast<std::size_t>(column);
    dots.connect(column, height_of(means[at]), height_of(means[at + 1]));
  }

  const std::string tick = options.utf8 ? "┤" : "+", wall = options.utf8 ? "│" : "|";
  const std::string corner = options.utf8 ? "└" : "+", floor = options.utf8 ? "─" : "-";
  const bool flat = y.low == y.high;
  std::string text;
  for (int row = 0; row < rows; ++row) {
    const bool labelled =
        flat ? row == (dots.height() - 1 + 1) / 2 * rows / dots.height() : row == 0 || row == rows - 1;
    const std::string label = !labelled ? "" : measured(row == 0 ? y.high : y.low);
    text += right_aligned(label, label_room) + " " + (labelled ? tick : wall) + dots.row(row) + "\n";
  }
  text += std::string(label_room + 1, ' ') + corner;
  for (int column = 0; column < columns; ++column) text += floor;
  return text + "\n" + std::string(label_room + 2, ' ') +
         axis_labels(measured(x.low), measured(x.high), options.x_label, static_cast<std::size_t>(columns)) +
         "\n";
}

}  // namespace runner
