#include "runner/train/sample_images.hpp"

#include <torch/types.h>

#include <cmath>

#include "components/images/image_codec.hpp"
#include "registry/base/arithmetic.hpp"
#include "runner/train/feed.hpp"

namespace runner {

namespace {

constexpr std::int64_t most_shown = 16;

// The first images of a batch [examples, channels, height, width], after all transforms, side by side in one
// picture. The smallest value shown becomes black, the largest white. Images have one channel or three.
Picture image_grid(const torch::Tensor& batch, std::int64_t most) {
  constexpr std::int64_t gap = 2;
  const torch::NoGradGuard no_grad;
  torch::Tensor images = batch.slice(0, 0, most).to(torch::kCPU, torch::kFloat32).contiguous();
  const torch::Tensor low = images.min(), range = (images.max() - low).clamp_min(1e-12);
  images = ((images - low) / range * 255).round().to(torch::kUInt8).expand({-1, 3, -1, -1});
  const std::int64_t count = images.size(0), height = images.size(2), width = images.size(3);
  const auto columns = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const std::int64_t rows = divide_up(count, columns);
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

void log_first(const Split& split, LoaderOptions options, const char* tag, Trackers& trackers) {
  const DataSpec spec = split.spec();
  const bool colours = spec.input_shape.size() == 3 && (spec.input_shape[0] == 1 || spec.input_shape[0] == 3);
  if (!spec.images || !colours) return;
  options.workers = 0;
  options.epochs = 1;
  options.pinned = false;
  Loader loader(split, options, {});
  if (const auto first = loader.next()) trackers.image(tag, image_grid(first->batch.input, most_shown), 0);
}

}  // namespace

void log_sample_images(const Run& run, Trackers& trackers) {
  if (!trackers.shows_images()) return;
  log_first(*run.data.train, training_options(run.recipe, run.engine), "samples/first_batch", trackers);
  if (run.data.eval)
    log_first(*run.data.eval, evaluation_options(run.recipe, run.engine), "samples/evaluation", trackers);
}

}  // namespace runner
