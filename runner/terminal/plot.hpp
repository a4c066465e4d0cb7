#pragma once

#include <span>
#include <string>
#include <utility>

namespace runner {

struct PlotOptions {
  int width = 72;    // columns in all, labels included
  int height = 8;    // rows of the curve itself
  bool utf8 = true;  // Braille dots and box lines; else ASCII
  std::string x_label = {};
};

// A curve as text, each line ended by a line feed:
//
//    2.31 ┤⢣
//         │ ⠣⡀
//         │  ⠈⠢⢄⣀⣀
//   0.412 ┤       ⠉⠉⠒⠤
//         └───────────
//         0        500 steps
//
// Points are (x, y) with x ascending. If several fall into one column, their mean is drawn; points that are
// not finite are skipped. Empty if fewer than two points can be drawn.
std::string plot(std::span<const std::pair<double, double>> points, const PlotOptions& options);

}  // namespace runner
