#include "components/contract/data_error.hpp"
#include "components/transforms/extent.hpp"
#include "components/transforms/transform.hpp"

namespace runner {
namespace {

enum class PaddingMode { constant, edge, reflect, symmetric };
constexpr auto describe(std::type_identity<PaddingMode>) {
  return choices(choice("constant", PaddingMode::constant, "one value"),
                 choice("edge", PaddingMode::edge, "the outermost pixel, repeated"),
                 choice("reflect", PaddingMode::reflect, "mirrored, the outermost pixel once"),
                 choice("symmetric", PaddingMode::symmetric, "mirrored, the outermost pixel twice"));
}

struct RandomCrop {
  std::optional<std::int64_t> size, height, width;
  std::int64_t padding = 0;
  bool pad_if_needed = false;
  int fill = 0;
  PaddingMode padding_mode = PaddingMode::constant;
};
constexpr auto describe(std::type_identity<RandomCrop>) {
  return fields(
      field("size", &RandomCrop::size, "Edge of the square that is cut out; default: the size of the image.",
            within(1, 65536)),
      field("height", &RandomCrop::height, "Height, with width, instead of size.", within(1, 65536)),
      field("width", &RandomCrop::width, "Width, with height, instead of size.", within(1, 65536)),
      field("padding", &RandomCrop::padding, "Pixels added on every side before cropping.", within(0, 65536)),
      field("pad_if_needed", &RandomCrop::pad_if_needed, "Also pad images that are smaller than the crop."),
      field("fill", &RandomCrop::fill, "Pixel value of constant padding.", within(0, 255)),
      field("padding_mode", &RandomCrop::padding_mode, "What the padding consists of."));
}
void check(const RandomCrop& settings, Report& report) {
  check_extent(settings, report);
  const bool constant = settings.padding_mode == PaddingMode::constant;
  if (settings.padding == 0 && !settings.pad_if_needed) {
    if (settings.fill != 0) report.error("fill", "has no effect without padding or pad_if_needed");
    if (!constant) report.error("padding_mode", "has no effect without padding or pad_if_needed");
  } else if (settings.fill != 0 && !constant) {
    report.error("fill", "has no effect unless padding_mode is \"constant\"");
  }
}

// The coordinate inside the image that one beyond its edge is mapped to. Padding may be wider than the image,
// so a coordinate may be mirrored more than once.
std::int64_t inside(std::int64_t at, std::int64_t size, PaddingMode mode) {
  if (mode == PaddingMode::edge || size == 1) return std::clamp<std::int64_t>(at, 0, size - 1);
  const std::int64_t skipped = mode == PaddingMode::reflect ? 1 : 0;  // does not repeat the outermost pixel
  while (at < 0 || at >= size) at = at < 0 ? -at - 1 + skipped : 2 * size - 1 - skipped - at;
  return at;
}

class RandomCropTransform : public Transform {
 public:
  RandomCropTransform(const RandomCrop& settings, const Extent& extent)
      : settings_(settings), extent_(extent) {}

  bool training_only() const override { return true; }
  DataSpec output(DataSpec input) const override { return with_extent(std::move(input), extent_); }

  void apply(Image& image, ExampleRandom& random) const override {
    const auto [top, slack_below] = range(image.height(), extent_.height);
    const auto [left, slack_right] = range(image.width(), extent_.width);
    if (slack_below < 0 || slack_right < 0) {
      throw DataError("the image of " + std::to_string(image.height()) + " x " +
                      std::to_string(image.width()) +
                      " is smaller than the random_crop; resize it before, or set pad_if_needed.");
    }
    const Rectangle part{top + random.below(slack_below + 1), left + random.below(slack_right + 1),
                         extent_.height, extent_.width};
    if (settings_.padding_mode == PaddingMode::constant) {
      image.crop(part, static_cast<std::uint8_t>(settings_.fill));
    } else {
      copy(image, part);
    }
  }

 private:
  // The first position at which the crop can start, and how many more there are.
  std::pair<std::int64_t, std::int64_t> range(std::int64_t available, std::int64_t wanted) const {
    std::int64_t padding = settings_.padding;
    if (settings_.pad_if_needed) padding += std::max<std::int64_t>(0, wanted - available - 2 * padding);
    return {-padding, available + 2 * padding - wanted};
  }

  void copy(Image& image, const Rectangle& part) const {
    const ImageView from = image.pixels();
    std::uint8_t* to = image.draft(part.height, part.width);
    for (std::int64_t channel = 0; channel < from.channels; ++channel) {
      for (std::int64_t row = 0; row < part.height; ++row) {
        const std::int64_t from_row = inside(part.top + row, from.height, settings_.padding_mode);
        for (std::int64_t column = 0; column < part.width; ++column) {
          *to++ = *from.at(channel, from_row, inside(part.left + column, from.width, settings_.padding_mode));
        }
      }
    }
    image.replace(part.height, part.width);
  }

  RandomCrop settings_;
  Extent extent_;
};

std::unique_ptr<Transform> build(const RandomCrop& settings, const TransformInputs& inputs) {
  if (settings.padding > 0 || settings.pad_if_needed) require_bytes(inputs.data, "random_crop with padding");
  const Extent own{inputs.data.input_shape.at(1), inputs.data.input_shape.at(2)};
  const Extent extent = given_extent(settings).value_or(own);
  if (extent.height < 1 || extent.width < 1) {
    throw std::runtime_error(
        "the images may differ in size, so give the size of the crop, or put a resize with height and width "
        "before it.");
  }
  if (!settings.pad_if_needed && own.height > 0 &&
      (extent.height > own.height + 2 * settings.padding ||
       extent.width > own.width + 2 * settings.padding)) {
    throw std::runtime_error("the crop is larger than the images of " + std::to_string(own.height) + " x " +
                             std::to_string(own.width) + " with their padding.");
  }
  return std::make_unique<RandomCropTransform>(settings, extent);
}

const Registration<TransformKind> registration{
    "random_crop", "Cuts out a rectangle at a random place, optionally after padding the image.", &build};

}  // namespace
}  // namespace runner
