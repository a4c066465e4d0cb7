#include <limits>
#include <stdexcept>

#include "components/transforms/random_area.hpp"
#include "components/transforms/transform.hpp"

namespace runner {
namespace {

struct RandomErasing {
  double p = 0.5;
  std::vector<double> scale = {0.02, 0.33};
  std::vector<double> ratio = {0.3, 3.3};
  std::vector<double> value = {0};
  bool noise = false;
};
constexpr auto describe(std::type_identity<RandomErasing>) {
  return fields(
      field("p", &RandomErasing::p, "Probability that an image is changed.", within(0, 1)),
      field("scale", &RandomErasing::scale, "Share of the image's area that is erased, from and to."),
      field("ratio", &RandomErasing::ratio, "Height : width of what is erased, from and to."),
      field("value", &RandomErasing::value,
            "Value of the erased pixels, after normalisation: one number, or one per channel.", non_empty()),
      field("noise", &RandomErasing::noise, "Fill with noise of mean 0 and deviation 1 instead."));
}
void check(const RandomErasing& settings, Report& report) {
  check_range("scale", settings.scale, 0, 1, report);
  check_range("ratio", settings.ratio, 0, std::numeric_limits<double>::infinity(), report);
  if (settings.noise && settings.value != std::vector<double>{0})
    report.error("value", "has no effect with noise");
}

class RandomErasingTransform : public Transform {
 public:
  RandomErasingTransform(const RandomErasing& settings, std::size_t channels)
      : settings_(settings), values_(settings.value.begin(), settings.value.end()) {
    if (values_.size() == 1) values_.resize(channels, values_[0]);
    // `ratio` is height : width, but random_area() takes width : height.
    shape_ = {1 / settings.ratio[1], 1 / settings.ratio[0]};
  }

  bool training_only() const override { return true; }
  DataSpec output(DataSpec input) const override {
    input.pixels_final = true;
    return input;
  }
  void apply(Image& image, ExampleRandom& random) const override {
    if (!random.chance(settings_.p)) return;
    const auto part = random_area(random, image.height(), image.width(), settings_.scale, shape_);
    if (!part) return;
    settings_.noise ? image.erase_with_noise(*part, random.bits()) : image.erase(*part, values_);
  }

 private:
  RandomErasing settings_;
  std::vector<float> values_;
  std::vector<double> shape_;
};

std::unique_ptr<Transform> build(const RandomErasing& settings, const TransformInputs& inputs) {
  const auto channels = static_cast<std::size_t>(inputs.data.input_shape.at(0));
  if (settings.value.size() != 1 && settings.value.size() != channels) {
    throw std::runtime_error("value has " + std::to_string(settings.value.size()) +
                             " numbers, the images have " + std::to_string(channels) + " channels.");
  }
  return std::make_unique<RandomErasingTransform>(settings, channels);
}

const Registration<TransformKind> registration{"random_erasing", "Blanks a random rectangle of some images.",
                                               &build};

}  // namespace
}  // namespace runner
