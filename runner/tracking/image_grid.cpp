#include "runner/tracking/image_grid.hpp"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "components/support/io/encode_png.hpp"

namespace runner {

Picture image_grid(const torch::Tensor& batch, std::int64_t most) {
  constexpr std::int64_t gap = 2;
  const torch::NoGradGuard no_grad;
  torch::Tensor images = batch.slice(0, 0, most).to(torch::kCPU, torch::kFloat32).contiguous();
  const torch::Tensor low = images.min(), range = (images.max() - low).clamp_min(1e-12);
  images = ((images - low) / range * 255).round().to(torch::kUInt8).expand({-1, 3, -1, -1});
  const std::int64_t count = images.size(0), height = images.size(2), width = images.size(3);
  const auto columns = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const std::int64_t rows = (count + columns - 1) / columns;
  torch::Tensor grid =
      torch::full({rows * (height + gap) - gap, columns * (width + gap) - gap, 3}, 255, torch::kUInt8);
  for (std::int64_t i = 0; i < count; ++i) {
    grid.slice(0, i / columns * (height + gap), i / columns * (height + gap) + height)
        .slice(1, i % columns * (width + gap), i % columns * (width + gap) + width)
        .copy_(images[i].permute({1, 2, 0}));
  }
  const ImageSize size{grid.size(0), grid.size(1)};
  const auto* bytes = grid.data_ptr<std::uint8_t>();
  return {encode_png({bytes, static_cast<std::size_t>(grid.numel())}, size), size.height, size.width};
}

}  // namespace runner
