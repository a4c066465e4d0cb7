#include <array>
#include <utility>

#include "components/transforms/color.hpp"
#include "components/transforms/extent.hpp"
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
void check(const ColorJitter& settings, Report& report) {
  if (settings.brightness == 0 && settings.contrast == 0 && settings.saturation == 0 && settings.hue == 0) {
    report.error("brightness", "nothing to do: give brightness, contrast, saturation or hue");
  }
}

class ColorJitterTransform : public Transform {
 public:
  explicit ColorJitterTransform(const ColorJitter& settings) : settings_(settings) {}

  bool training_only() const override { return true; }
  void apply(Image& image, ExampleRandom& random) const override {
    const ColorPlanes planes = copy(image);
    std::array<int, 4> order{0, 1, 2, 3};
    for (std::size_t i = 3; i > 0; --i) {
      std::swap(order[i], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i) + 1))]);
    }
    const auto factor = [&](double amount) {
      return random.uniform(std::max(0.0, 1.0 - amount), 1.0 + amount);
    };
    for (const int adjustment : order) {
      if (adjustment == 0 && settings_.brightness > 0)
        adjust_brightness(planes, factor(settings_.brightness));
      if (adjustment == 1 && settings_.contrast > 0) adjust_contrast(planes, factor(settings_.contrast));
      if (adjustment == 2 && settings_.saturation > 0)
        adjust_saturation(planes, factor(settings_.saturation));
      if (adjustment == 3 && settings_.hue > 0)
        adjust_hue(planes, random.uniform(-settings_.hue, settings_.hue));
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

  ColorJitter settings_;
};

std::unique_ptr<Transform> build(const ColorJitter& settings, const TransformInputs& inputs) {
  require_bytes(inputs.data, "color_jitter");
  if (inputs.data.input_shape.at(0) != 3 && (settings.saturation > 0 || settings.hue > 0)) {
    throw std::runtime_error("images of " + std::to_string(inputs.data.input_shape.at(0)) +
                             " channel(s) have no saturation and no hue: remove both.");
  }
  return std::make_unique<ColorJitterTransform>(settings);
}

const Registration<TransformKind> registration{
    "color_jitter", "Changes brightness, contrast, saturation and hue at random, in random order.", &build};

}  // namespace
}  // namespace runner
