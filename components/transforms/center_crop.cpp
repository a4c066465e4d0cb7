
#include "components/transforms/extent.hpp"
#include "components/transforms/transform.hpp"

namespace runner {
namespace {

struct CenterCrop {
  std::optional<std::int64_t> size, height, width;
};
constexpr auto describe(std::type_identity<CenterCrop>) {
  return fields(
      field("size", &CenterCrop::size, "Edge of the square that is kept.", within(1, 65536)),
      field("height", &CenterCrop::height, "Height, with width, instead of size.", within(1, 65536)),
      field("width", &CenterCrop::width, "Width, with height, instead of size.", within(1, 65536)));
}
void check(const CenterCrop& settings, Report& report) { check_extent_given(settings, report); }

// Half of the difference; an odd pixel goes to the same side as in torchvision.
std::int64_t start(std::int64_t available, std::int64_t wanted) {
  if (wanted > available) return -((wanted - available) / 2);
  return std::lrint(static_cast<double>(available - wanted) / 2);
}

class CenterCropTransform : public Transform {
 public:
  explicit CenterCropTransform(const Extent& extent) : extent_(extent) {}

  DataSpec output(DataSpec input) const override { return with_extent(std::move(input), extent_); }
  void apply(Image& image, ExampleRandom&) const override {
    image.crop({start(image.height(), extent_.height), start(image.width(), extent_.width), extent_.height,
                extent_.width});
  }

 private:
  Extent extent_;
};

std::unique_ptr<Transform> build(const CenterCrop& settings, const TransformInputs& inputs) {
  const Extent extent = *given_extent(settings);
  const bool may_pad =
      inputs.data.input_shape.at(1) < extent.height || inputs.data.input_shape.at(2) < extent.width;
  if (may_pad) require_bytes(inputs.data, "center_crop of images that may be smaller");
  return std::make_unique<CenterCropTransform>(extent);
}

const Registration<TransformKind> registration{
    "center_crop", "Keeps the middle of the image; a smaller image gets a black border.", &build};

}  // namespace
}  // namespace runner
