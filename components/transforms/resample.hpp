#pragma once

#include <type_traits>

#include "components/transforms/image.hpp"
#include "registry/field.hpp"

namespace runner {

enum class Interpolation { nearest, bilinear, bicubic };
constexpr auto describe(std::type_identity<Interpolation>) {
  return choices(choice("nearest", Interpolation::nearest, "the closest pixel"),
                 choice("bilinear", Interpolation::bilinear, "weighted mean, antialiased when shrinking"),
                 choice("bicubic", Interpolation::bicubic, "sharper, antialiased when shrinking"));
}

// Resizes the image with exactly the bytes that Pillow (and so torchvision) gives: a filter that widens with
// the scale, applied along rows and along columns one after the other, in fixed-point arithmetic.
void resample(Image& image, std::int64_t height, std::int64_t width, Interpolation interpolation);

}  // namespace runner
