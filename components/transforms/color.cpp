#include "components/transforms/color.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace runner {
namespace {

std::uint8_t mixed(float factor, float rest, std::uint8_t value, float other) {
  return static_cast<std::uint8_t>(
      std::clamp(factor * static_cast<float>(value) + rest * other, 0.0F, 255.0F));
}

std::uint8_t grey(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  return static_cast<std::uint8_t>(0.2989F * static_cast<float>(red) + 0.587F * static_cast<float>(green) +
                                   0.114F * static_cast<float>(blue));
}

// Mixes every pixel with the same value.
void mix_all(const ColorPlanes& image, double factor, float other) {
  std::array<std::uint8_t, 256> table;
  for (int value = 0; value < 256; ++value) {
    table[static_cast<std::size_t>(value)] =
        mixed(static_cast<float>(factor), static_cast<float>(1.0 - factor), static_cast<std::uint8_t>(value),
              other);
  }
  for (std::int64_t i = 0; i < image.channels * image.area; ++i) image.pixels[i] = table[image.pixels[i]];
}

std::uint8_t to_byte(float share) { return static_cast<std::uint8_t>(share * (255.0F + 1.0F - 1e-3F)); }

}  // namespace

void adjust_brightness(const ColorPlanes& image, double factor) { mix_all(image, factor, 0.0F); }

void adjust_contrast(const ColorPlanes& image, double factor) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < image.area; ++i) {
    sum += image.channels == 3 ? grey(image.plane(0)[i], image.plane(1)[i], image.plane(2)[i])
                               : image.plane(0)[i];
  }
  mix_all(image, factor, static_cast<float>(static_cast<double>(sum) / static_cast<double>(image.area)));
}

void adjust_saturation(const ColorPlanes& image, double factor) {
  if (image.channels != 3) return;
  const auto share = static_cast<float>(factor);
  const auto rest = static_cast<float>(1.0 - factor);
  for (std::int64_t i = 0; i < image.area; ++i) {
    const float other = grey(image.plane(0)[i], image.plane(1)[i], image.plane(2)[i]);
    for (std::int64_t channel = 0; channel < 3; ++channel) {
      std::uint8_t& value = image.plane(channel)[i];
      value = mixed(share, rest, value, other);
    }
  }
}

void adjust_hue(const ColorPlanes& image, double shift) {
  if (image.channels != 3) return;
  for (std::int64_t i = 0; i < image.area; ++i) {
    const float red = static_cast<float>(image.plane(0)[i]) / 255.0F;
    const float green = static_cast<float>(image.plane(1)[i]) / 255.0F;
    const float blue = static_cast<float>(image.plane(2)[i]) / 255.0F;
    const float value = std::max({red, green, blue});
    const float chroma = value - std::min({red, green, blue});
    if (chroma == 0) continue;  // grey has no hue

    // RGB to hue, in six sectors of the colour circle; then the shift; then back to RGB.
    float sector = 0;
    if (value == red) {
      sector = (value - blue) / chroma - (value - green) / chroma;
    } else if (value == green) {
      sector = 2.0F + (value - red) / chroma - (value - blue) / chroma;
    } else {
      sector = 4.0F + (value - green) / chroma - (value - red) / chroma;
    }
    float hue = std::fmod(sector / 6.0F + 1.0F, 1.0F) + static_cast<float>(shift);
    hue -= std::floor(hue);

    const float saturation = chroma / value;
    const float edge = std::floor(hue * 6.0F);
    const float within = hue * 6.0F - edge;
    const auto bounded = [](float share) { return std::clamp(share, 0.0F, 1.0F); };
    const float low = bounded(value * (1.0F - saturation));
    const float falling = bounded(value * (1.0F - saturation * within));
    const float rising = bounded(value * (1.0F - saturation * (1.0F - within)));
    std::array<float, 3> rgb{};
    switch (static_cast<int>(edge) % 6) {
      case 0: rgb = {value, rising, low}; break;
      case 1: rgb = {falling, value, low}; break;
      case 2: rgb = {low, value, rising}; break;
      case 3: rgb = {low, falling, value}; break;
      case 4: rgb = {rising, low, value}; break;
      default: rgb = {value, low, falling}; break;
    }
    for (std::int64_t channel = 0; channel < 3; ++channel) {
      image.plane(channel)[i] = to_byte(rgb[static_cast<std::size_t>(channel)]);
    }
  }
}

}  // namespace runner
