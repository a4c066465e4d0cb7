#pragma once

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "components/contract/example_random.hpp"
#include "components/transforms/image.hpp"
#include "registry/diagnostics.hpp"

namespace runner {

// A rectangle with a random share of the image's area and a random shape, at a random place; nothing if none
// of ten draws fits. `ratio` is width : height. As torchvision's RandomResizedCrop and RandomErasing do.
inline std::optional<Rectangle> random_area(ExampleRandom& random, std::int64_t height, std::int64_t width,
                                            const std::vector<double>& scale,
                                            const std::vector<double>& ratio) {
  const auto area = static_cast<double>(height * width);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double wanted = area * random.uniform(scale[0], scale[1]);
    const double shape = std::exp(random.uniform(std::log(ratio[0]), std::log(ratio[1])));
    const std::int64_t w = std::lrint(std::sqrt(wanted * shape));
    const std::int64_t h = std::lrint(std::sqrt(wanted / shape));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const std::int64_t top = random.below(height - h + 1);
    return Rectangle{top, random.below(width - w + 1), h, w};
  }
  return std::nullopt;
}

inline void check_range(std::string_view field, const std::vector<double>& range, double above,
                        double highest, Report& report) {
  if (range.size() != 2) {
    report.error(field, "is two numbers: from, to");
  } else if (range[0] > range[1] || range[0] <= above || range[1] > highest) {
    report.error(field,
                 "is a range from low to high, above " + std::to_string(static_cast<int>(above)) +
                     (std::isinf(highest) ? "" : ", up to " + std::to_string(static_cast<int>(highest))));
  }
}

}  // namespace runner
