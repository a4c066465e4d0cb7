#include <limits>

#include "components/transforms/extent.hpp"
#include "components/transforms/random_area.hpp"
#include "components/transforms/resample.hpp"
#include "components/transforms/transform.hpp"

namespace runner {
namespace {

struct RandomResizedCrop {
  std::optional<std::int64_t> size, height, width;
  std::vector<double> scale = {0.08, 1.0};
  std::vector<double> ratio = {3.0 / 4.0, 4.0 / 3.0};
  Interpolation interpolation = Interpolation::bilinear;
};
constexpr auto describe(std::type_identity<RandomResizedCrop>) {
  return fields(
      field("size", &RandomResizedCrop::size, "Edge of the square that comes out.", within(1, 65536)),
      field("height", &RandomResizedCrop::height, "Height, with width, instead of size.", within(1, 65536)),
      field("width", &RandomResizedCrop::width, "Width, with height, instead of size.", within(1, 65536)),
      field("scale", &RandomResizedCrop::scale, "Share of the image's area that is cut out, from and to."),
      field("ratio", &RandomResizedCrop::ratio, "Width : height of what is cut out, from and to."),
      field("interpolation", &RandomResizedCrop::interpolation, "How new pixels are computed."));
}
void check(const RandomResizedCrop& settings, Report& report) {
  check_extent_given(settings, report);
  check_range("scale", settings.scale, 0, 1, report);
  check_range("ratio", settings.ratio, 0, std::numeric_limits<double>::infinity(), report);
}

class RandomResizedCropTransform : public Transform {
 public:
  RandomResizedCropTransform(const RandomResizedCrop& settings, const Extent& extent)
      : settings_(settings), extent_(extent) {}

  bool training_only() const override { return true; }
  DataSpec output(DataSpec input) const override { return with_extent(std::move(input), extent_); }
  void apply(Image& image, ExampleRandom& random) const override {
    const auto part = random_area(random, image.height(), image.width(), settings_.scale, settings_.ratio);
    image.crop(part ? *part : largest_middle(image.height(), image.width()));
    resample(image, extent_.height, extent_.width, settings_.interpolation);
  }

 private:
  Rectangle largest_middle(std::int64_t height, std::int64_t width) const {
    const double shape = static_cast<double>(width) / static_cast<double>(height);
    Rectangle part{0, 0, height, width};
    if (shape < settings_.ratio[0]) part.height = std::lrint(static_cast<double>(width) / settings_.ratio[0]);
    if (shape > settings_.ratio[1]) part.width = std::lrint(static_cast<double>(height) * settings_.ratio[1]);
    part.height = std::max<std::int64_t>(1, part.height);
    part.width = std::max<std::int64_t>(1, part.width);
    part.top = (height - part.height) / 2;
    part.left = (width - part.width) / 2;
    return part;
  }

  RandomResizedCrop settings_;
  Extent extent_;
};

std::unique_ptr<Transform> build(const RandomResizedCrop& settings, const TransformInputs& inputs) {
  require_bytes(inputs.data, "random_resized_crop");
  return std::make_unique<RandomResizedCropTransform>(settings, *given_extent(settings));
}

const Registration<TransformKind> registration{
    "random_resized_crop", "Cuts out a random part of random size and shape, and resizes it.", &build};

}  // namespace
}  // namespace runner
