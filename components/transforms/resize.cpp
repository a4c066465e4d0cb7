#include "components/contract/data_error.hpp"
#include "components/images/image_codec.hpp"
#include "components/transforms/extent.hpp"
#include "components/transforms/resample.hpp"
#include "components/transforms/transform.hpp"

namespace runner {
namespace {

struct Resize {
  std::optional<std::int64_t> size, height, width;
  Interpolation interpolation = Interpolation::bilinear;
};
constexpr auto describe(std::type_identity<Resize>) {
  return fields(field("size", &Resize::size, "Length of the shorter edge; the shape of the image is kept.",
                      within(1, 65536)),
                field("height", &Resize::height, "Height, with width, instead of size.", within(1, 65536)),
                field("width", &Resize::width, "Width, with height, instead of size.", within(1, 65536)),
                field("interpolation", &Resize::interpolation, "How new pixels are computed."));
}
void check(const Resize& settings, Report& report) { check_extent_given(settings, report); }

class ResizeTransform : public Transform {
 public:
  explicit ResizeTransform(const Resize& settings) : settings_(settings) {}

  DataSpec output(DataSpec input) const override {
    const Extent own{input.input_shape.at(1), input.input_shape.at(2)};
    return with_extent(std::move(input), target(own));
  }
  void apply(Image& image, ExampleRandom&) const override {
    const Extent extent = target({image.height(), image.width()});
    // A strip of pixels would become an image that is larger than the memory.
    if (settings_.size && extent.height * extent.width > most_pixels) {
      throw DataError("the image of " + std::to_string(image.height()) + " x " +
                      std::to_string(image.width()) + " would be resized to " +
                      std::to_string(extent.height) + " x " + std::to_string(extent.width) +
                      ", which is too large; remove it, or set height and width of the resize.");
    }
    resample(image, extent.height, extent.width, settings_.interpolation);
  }

 private:
  // If images differ in size (-1), `size` does not make them equal: only height and width do.
  Extent target(const Extent& own) const {
    if (!settings_.size) return {*settings_.height, *settings_.width};
    const std::int64_t size = *settings_.size;
    if (own.height < 1 || own.width < 1) return {-1, -1};
    if (own.width <= own.height) return {size * own.height / own.width, size};
    return {size, size * own.width / own.height};
  }

  Resize settings_;
};

std::unique_ptr<Transform> build(const Resize& settings, const TransformInputs& inputs) {
  require_bytes(inputs.data, "resize");
  return std::make_unique<ResizeTransform>(settings);
}

const Registration<TransformKind> registration{"resize", "Changes the size of the image, as Pillow does.",
                                               &build};

}  // namespace
}  // namespace runner
