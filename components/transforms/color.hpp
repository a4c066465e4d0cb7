#pragma once

#include <cstdint>

namespace runner {

// An RGB or grey image that may be changed in place, one plane after the other.
struct ColorPlanes {
  std::uint8_t* pixels = nullptr;
  std::int64_t channels = 0;  // 3; otherwise saturation and hue do not change anything
  std::int64_t area = 0;      // pixels of one plane

  std::uint8_t* plane(std::int64_t channel) const { return pixels + channel * area; }
};

// torchvision's adjustments of byte images, with its rounding. A factor of 1 (hue: a shift of 0) changes
// nothing.
void adjust_brightness(const ColorPlanes& image, double factor);  // mixed with black
void adjust_contrast(const ColorPlanes& image, double factor);    // mixed with the mean grey
void adjust_saturation(const ColorPlanes& image, double factor);  // mixed with its own grey version
void adjust_hue(const ColorPlanes& image, double shift);          // along the colour circle, -0.5 to 0.5

}  // namespace runner
