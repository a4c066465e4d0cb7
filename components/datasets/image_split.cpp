#include "components/datasets/image_split.hpp"

#include <algorithm>

namespace runner {
namespace {

std::string extent(std::int64_t height, std::int64_t width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

}  // namespace

ImageSplit::ImageSplit(const DataSpec& raw, const TransformPipeline& transforms, Phase phase)
    : after_(after(transforms, raw, phase == Phase::training)), plain_(raw.input_shape.at(0)) {
  for (const TransformStep& step : transforms) {
    if (phase == Phase::training ? step.training : step.evaluation) transforms_.push_back(step.transform);
  }
  if (std::any_of(after_.input_shape.begin(), after_.input_shape.end(),
                  [](auto extent) { return extent < 1; })) {
    throw DataError(
        "The images of this dataset may differ in size, and no transform makes them equal. "
        "Give the dataset one such as { name = \"resize\", height = 224, width = 224 }.");
  }
}

Batch ImageSplit::allocate(std::int64_t examples, torch::MemoryFormat format) const {
  const auto& shape = after_.input_shape;
  return {torch::empty({examples, shape[0], shape[1], shape[2]},
                       torch::TensorOptions(torch::kFloat32).memory_format(format)),
          torch::empty({examples}, torch::kInt64)};
}

void ImageSplit::read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const {
  thread_local Scratch scratch;
  const torch::Tensor& input = batch.input;
  ImageTarget target{input.data_ptr<float>() + first * input.stride(0), input.stride(1), input.stride(2),
                     input.stride(3)};
  const std::ptrdiff_t example_step = input.stride(0);
  auto* labels = batch.target.data_ptr<std::int64_t>() + first;

  for (const ExampleRef& example : examples) {
    const ImageView source = this->image(example.index, scratch);
    if (source.channels != after_.input_shape[0]) {
      throw DataError(example_name(example.index) + ": the image has " + std::to_string(source.channels) +
                      " channel(s), but " + std::to_string(after_.input_shape[0]) + " are expected.");
    }
    Image image(source, scratch);
    ExampleRandom random(example.seed);
    try {
      for (const auto& transform : transforms_) transform->apply(image, random);
    } catch (const DataError& error) {  // transforms do not know which image it is
      throw DataError(example_name(example.index) + ": " + error.what());
    }
    if (image.height() != after_.input_shape[1] || image.width() != after_.input_shape[2]) {
      throw DataError(example_name(example.index) + ": the image is " +
                      extent(image.height(), image.width()) + ", but " +
                      extent(after_.input_shape[1], after_.input_shape[2]) +
                      " is expected. A resize transform with height and width makes all images equal.");
    }
    image.write(target, plain_);
    target.values += example_step;
    *labels++ = label(example.index);
  }
}

void ImageSplit::finish(Batch& batch, std::uint64_t seed) const {
  ExampleRandom random(seed);
  for (const auto& transform : transforms_) transform->apply_to_batch(batch, random);
}

}  // namespace runner
