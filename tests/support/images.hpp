// A known image, and what a transform makes of it on the way the loader takes.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "components/transforms/transform.hpp"
#include "tests/support/parts.hpp"

namespace runner::testing {

// The same pixels as pattern() in tests/components/transforms/make_reference.py, one plane after the other.
inline std::vector<std::uint8_t> pattern(std::int64_t channels, std::int64_t height, std::int64_t width) {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        pixels.push_back(static_cast<std::uint8_t>(
            (37 * c + 11 * y * y + 29 * x + 5 * ((x * y * 7) % 13) * (c + 1)) % 256));
      }
    }
  }
  return pixels;
}

// All numbers of the image as {channels, height, width}.
inline torch::Tensor written(const Image& image, bool channels_last = false) {
  const std::int64_t c = image.channels(), h = image.height(), w = image.width();
  torch::Tensor batch = torch::full({1, c, h, w}, NAN);
  if (channels_last) batch = batch.contiguous(torch::MemoryFormat::ChannelsLast);
  image.write({batch.data_ptr<float>(), batch.stride(1), batch.stride(2), batch.stride(3)}, PixelTable(c));
  return batch[0].contiguous();
}

inline DataSpec image_spec(std::int64_t channels, std::int64_t height, std::int64_t width,
                           std::int64_t classes = 10) {
  DataSpec spec;
  spec.input_shape = {channels, height, width};
  spec.classes = classes;
  spec.images = true;
  return spec;
}

inline std::unique_ptr<Transform> transform(std::string name, const Settings& settings,
                                            const DataSpec& spec) {
  return part<TransformKind>(std::move(name), settings).build({spec});
}

// The pattern of that size after the transform, with the generator of that seed.
inline torch::Tensor transformed(const Transform& transform, std::int64_t channels, std::int64_t height,
                                 std::int64_t width, std::uint64_t seed = 1) {
  const auto pixels = pattern(channels, height, width);
  Scratch scratch;
  Image image(ImageView::planar(pixels.data(), channels, height, width), scratch);
  ExampleRandom random(seed);
  transform.apply(image, random);
  return written(image);
}

// The pattern as ToTensor gives it: 0 to 1.
inline torch::Tensor plain_pattern(std::int64_t channels, std::int64_t height, std::int64_t width) {
  auto pixels = pattern(channels, height, width);
  return torch::from_blob(pixels.data(), {channels, height, width}, torch::kUInt8).to(torch::kFloat32) /
         255.0;
}

}  // namespace runner::testing
