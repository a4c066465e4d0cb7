#include "components/transforms/resample.hpp"

#include <algorithm>
#include <cmath>

// Vector instructions make the inner loops several times faster, and g++ uses them only at -O3.
#if defined(__GNUC__) && !defined(__clang__)
#define RUNNER_VECTORIZE [[gnu::optimize("O3")]]
#else
#define RUNNER_VECTORIZE
#endif

namespace runner {
namespace {

constexpr int precision = 22;  // bits after the binary point: a byte and a sign bit are left above them
constexpr std::int32_t half = 1 << (precision - 1);

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// Which input pixels each output pixel is made of, along one axis, and how much of each.
struct Weights {
  struct Window {
    std::int64_t first = 0, count = 0;
  };
  std::vector<Window> windows;
  std::vector<std::int32_t> fixed;  // `stride` for each output pixel
  std::int64_t stride = 0;

  const std::int32_t* of(std::int64_t output) const { return fixed.data() + output * stride; }
};

Weights weights(std::int64_t input, std::int64_t output, Interpolation interpolation) {
  const bool bilinear = interpolation == Interpolation::bilinear;
  const double scale = static_cast<double>(input) / static_cast<double>(output);
  const double spread = std::max(1.0, scale);
  const double support = (bilinear ? 1.0 : 2.0) * spread;

  Weights result;
  result.stride = static_cast<std::int64_t>(std::ceil(support)) * 2 + 1;
  result.windows.resize(static_cast<std::size_t>(output));
  result.fixed.resize(static_cast<std::size_t>(output * result.stride));
  std::vector<double> exact(static_cast<std::size_t>(result.stride));
  for (std::int64_t at = 0; at < output; ++at) {
    const double center = (static_cast<double>(at) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(center - support + 0.5));
    const auto end = std::min<std::int64_t>(input, static_cast<std::int64_t>(center + support + 0.5));
    double sum = 0;
    for (std::int64_t i = first; i < end; ++i) {
      const double distance = (static_cast<double>(i) - center + 0.5) * (1.0 / spread);
      sum += exact[static_cast<std::size_t>(i - first)] = bilinear ? triangle(distance) : cubic(distance);
    }
    std::int32_t* fixed = result.fixed.data() + at * result.stride;
    for (std::int64_t i = 0; i < end - first; ++i) {
      double weight = exact[static_cast<std::size_t>(i)];
      if (sum != 0) weight /= sum;
      fixed[i] = static_cast<std::int32_t>(weight * (1 << precision) + (weight < 0 ? -0.5 : 0.5));
    }
    result.windows[static_cast<std::size_t>(at)] = {first, end - first};
  }
  return result;
}

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> precision, 0, 255));
}

// Resizes all rows of one channel.
void along_rows(const ImageView& from, std::int64_t channel, const Weights& weights, std::uint8_t* to) {
  for (std::int64_t row = 0; row < from.height; ++row) {
    const std::uint8_t* line = from.at(channel, row, 0);
    for (std::size_t at = 0; at < weights.windows.size(); ++at) {
      const auto [first, count] = weights.windows[at];
      const std::int32_t* weight = weights.of(static_cast<std::int64_t>(at));
      const std::uint8_t* pixel = line + first * from.column_step;
      std::int32_t sum = half;
      for (std::int64_t i = 0; i < count; ++i, pixel += from.column_step) sum += *pixel * weight[i];
      *to++ = to_byte(sum);
    }
  }
}

RUNNER_VECTORIZE void add_weighted(const std::uint8_t* __restrict line, std::int32_t weight,
                                   std::int32_t* __restrict sums, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += line[i] * weight;
}

RUNNER_VECTORIZE void to_bytes(const std::int32_t* __restrict sums, std::uint8_t* __restrict to,
                               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = to_byte(sums[i]);
}

// Resizes all columns of one channel, a whole line at a time.
void along_columns(const std::uint8_t* from, std::int64_t width, const Weights& weights,
                   std::vector<std::int32_t>& sums, std::uint8_t* to) {
  for (std::size_t at = 0; at < weights.windows.size(); ++at, to += width) {
    const auto [first, count] = weights.windows[at];
    const std::int32_t* weight = weights.of(static_cast<std::int64_t>(at));
    sums.assign(static_cast<std::size_t>(width), half);
    for (std::int64_t i = 0; i < count; ++i)
      add_weighted(from + (first + i) * width, weight[i], sums.data(), width);
    to_bytes(sums.data(), to, width);
  }
}

void copy_plane(const ImageView& from, std::int64_t channel, std::vector<std::uint8_t>& plane) {
  plane.resize(static_cast<std::size_t>(from.height * from.width));
  std::uint8_t* to = plane.data();
  for (std::int64_t row = 0; row < from.height; ++row) {
    const std::uint8_t* line = from.at(channel, row, 0);
    for (std::int64_t column = 0; column < from.width; ++column) *to++ = line[column * from.column_step];
  }
}

void pick_nearest(const ImageView& from, std::uint8_t* to, std::int64_t height, std::int64_t width) {
  const double row_scale = static_cast<double>(from.height) / static_cast<double>(height);
  const double column_scale = static_cast<double>(from.width) / static_cast<double>(width);
  const auto pick = [](std::int64_t at, double scale, std::int64_t size) {
    return std::min(size - 1, static_cast<std::int64_t>((static_cast<double>(at) + 0.5) * scale));
  };
  for (std::int64_t channel = 0; channel < from.channels; ++channel) {
    for (std::int64_t row = 0; row < height; ++row) {
      const std::int64_t from_row = pick(row, row_scale, from.height);
      for (std::int64_t column = 0; column < width; ++column) {
        *to++ = *from.at(channel, from_row, pick(column, column_scale, from.width));
      }
    }
  }
}

}  // namespace

void resample(Image& image, std::int64_t height, std::int64_t width, Interpolation interpolation) {
  if (height == image.height() && width == image.width()) return;
  const ImageView from = image.pixels();
  std::uint8_t* to = image.draft(height, width);
  if (interpolation == Interpolation::nearest) {
    pick_nearest(from, to, height, width);
  } else {
    const Weights horizontal = weights(from.width, width, interpolation);
    const Weights vertical = weights(from.height, height, interpolation);
    // The order affects the last bit, so it is the same as Pillow's: columns first only if that saves clearly
    // more work.
    const bool columns_first = from.height > height && from.height - height > 2 * (from.width - width);
    thread_local std::vector<std::uint8_t> between, plane;
    thread_local std::vector<std::int32_t> sums;
    for (std::int64_t channel = 0; channel < from.channels; ++channel, to += height * width) {
      if (columns_first) {
        copy_plane(from, channel, plane);
        between.resize(static_cast<std::size_t>(height * from.width));
        along_columns(plane.data(), from.width, vertical, sums, between.data());
        along_rows(ImageView::planar(between.data(), 1, height, from.width), 0, horizontal, to);
      } else {
        between.resize(static_cast<std::size_t>(from.height * width));
        along_rows(from, channel, horizontal, between.data());
        along_columns(between.data(), width, vertical, sums, to);
      }
    }
  }
  image.replace(height, width);
}

}  // namespace runner
