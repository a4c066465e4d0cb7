#include "components/datasets/image_interpreter.hpp"

#include "components/datasets/image_split.hpp"
#include "components/datasets/read/read_all.hpp"
#include "components/transforms/resample.hpp"

namespace runner {

namespace {

// In place, as Pillow's "L" computes it.
ImageView grey(const ImageView& colour, Scratch& scratch) {
  const std::uint8_t* from = scratch.decoded.data();
  const std::int64_t pixels = colour.height * colour.width;
  for (std::int64_t i = 0; i < pixels; ++i, from += 3) {
    scratch.decoded[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>((from[0] * 19595 + from[1] * 38470 + from[2] * 7471 + 0x8000) >> 16);
  }
  return ImageView::planar(scratch.decoded.data(), 1, colour.height, colour.width);
}

class GivenImages final : public ImageSplit {
 public:
  GivenImages(const DataSpec& raw, const TransformPipeline& transforms, std::span<const std::string> paths,
              Turned turned)
      : ImageSplit(raw, transforms, Phase::evaluation),
        paths_(paths),
        shape_(raw.input_shape),
        turned_(turned) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(paths_.size()); }

 protected:
  ImageView image(std::int64_t index, Scratch& scratch) const override {
    ImageView view = read_image(example_name(index), scratch, turned_);
    if (shape_[0] == 1) view = grey(view, scratch);
    if (shape_[1] < 1 || (view.height == shape_[1] && view.width == shape_[2])) return view;
    Image scaled(view, scratch);
    resample(scaled, shape_[1], shape_[2], Interpolation::bilinear);
    return scaled.pixels();
  }
  std::int64_t label(std::int64_t) const override { return 0; }
  std::string example_name(std::int64_t index) const override {
    return paths_[static_cast<std::size_t>(index)];
  }

 private:
  std::span<const std::string> paths_;
  std::vector<std::int64_t> shape_;
  Turned turned_;
};

class ImageInterpreter final : public Interpreter {
 public:
  ImageInterpreter(const DataSpec& raw, const TransformPipeline& transforms, Turned turned)
      : raw_(raw), transforms_(transforms), turned_(turned) {}

  Batch read(std::span<const std::string> inputs) const override {
    return read_all(GivenImages(raw_, transforms_, inputs, turned_));
  }

 private:
  DataSpec raw_;
  TransformPipeline transforms_;
  Turned turned_;
};

}  // namespace

std::unique_ptr<Interpreter> image_interpreter(const DataSpec& raw, const TransformPipeline& transforms,
                                               Turned turned) {
  return std::make_unique<ImageInterpreter>(raw, transforms, turned);
}

}  // namespace runner
