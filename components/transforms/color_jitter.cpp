#include <array>
#include <utility>

#include "components/transforms/support/color.hpp"
#include "components/transforms/support/extent.hpp"
#include "components/transforms/transform.hpp"

namespace runner {
namespace {

struct ColorJitter {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
};
constexpr auto describe(std::type_identity<ColorJitter>) {
  return fields(
      field("brightness", &ColorJitter::brightness,
            "b: every pixel is multiplied by a factor drawn from 1 - b (at least 0) to 1 + b.", at_least(0)),
      field("contrast", &ColorJitter::contrast,
            "c: the contrast is multiplied by a factor drawn from 1 - c to 1 + c.", at_least(0)),
      field("saturation", &ColorJitter::saturation,
            "s: the saturation is multiplied by a factor drawn from 1 - s to 1 + s.", at_least(0)),
      field("hue", &ColorJitter::hue,
            "h: the hue is shifted by a share of the colour circle drawn from -h to h.", within(0, 0.5)));
}
void check(const ColorJitter& params, Report& report) {
  if (params.brightness == 0 && params.contrast == 0 && params.saturation == 0 && params.hue == 0) {
    report.error("brightness", "nothing to do: give brightness, contrast, saturation or hue");
  }
}

class ColorJitterTransform : public Transform {
 public:
  explicit ColorJitterTransform(const ColorJitter& params) : params_(params) {}

  bool training_only() const override { return true; }
  void apply(Image& image, SampleRandom& random) const override {
    const ColorPlanes planes = copy(image);
    std::array<int, 4> order{0, 1, 2, 3};
    for (std::size_t i = 3; i > 0; --i) {
      std::swap(order[i], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i) + 1))]);
    }
    const auto factor = [&](double amount) {
      return random.uniform(std::max(0.0, 1.0 - amount), 1.0 + amount);
    };
    for (const int adjustment : order) {
      if (adjustment == 0 && params_.brightness > 0) adjust_brightness(planes, factor(params_.brightness));
      if (adjustment == 1 && params_.contrast > 0) adjust_contrast(planes, factor(params_.contrast));
      if (adjustment == 2 && params_.saturation > 0) adjust_saturation(planes, factor(params_.saturation));
      if (adjustment == 3 && params_.hue > 0) adjust_hue(planes, random.uniform(-params_.hue, params_.hue));
    }
    image.replace(image.height(), image.width());
  }

 private:
  static ColorPlanes copy(Image& image) {
    const ImageView from = image.pixels();
    std::uint8_t* const planes = image.draft(from.height, from.width);
    std::uint8_t* to = planes;
    for (std::int64_t channel = 0; channel < from.channels; ++channel) {
      for (std::int64_t row = 0; row < from.height; ++row) {
        const std::uint8_t* line = from.at(channel, row, 0);
        for (std::int64_t i = 0; i < from.width; ++i) *to++ = line[i * from.column_step];
      }
    }
    return {planes, from.channels, from.height * from.width};
  }

  ColorJitter params_;
};

std::unique_ptr<Transform> build(const ColorJitter& params, const TransformInputs& in) {
  require_bytes(in.data, "color_jitter");
  if (in.data.input_shape.at(0) != 3 && (params.saturation > 0 || params.hue > 0)) {
    throw std::runtime_error("images of " + std::to_string(in.data.input_shape.at(0)) +
                             " channel(s) have no saturation and no hue: remove both.");
  }
  return std::make_unique<ColorJitterTransform>(params);
}

const Registration<TransformKind> registration{
    "color_jitter", "Changes brightness, contrast, saturation and hue at random, in random order.", &build};

}  // namespace
}  // namespace runner
