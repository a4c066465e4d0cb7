#include <limits>
#include <stdexcept>

#include "components/transforms/support/random_area.hpp"
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
void check(const RandomErasing& params, Report& report) {
  check_range("scale", params.scale, 0, 1, report);
  check_range("ratio", params.ratio, 0, std::numeric_limits<double>::infinity(), report);
  if (params.noise && params.value != std::vector<double>{0})
    report.error("value", "has no effect with noise");
}

class RandomErasingTransform : public Transform {
 public:
  RandomErasingTransform(const RandomErasing& params, std::size_t channels)
      : params_(params), values_(params.value.begin(), params.value.end()) {
    if (values_.size() == 1) values_.resize(channels, values_[0]);
    // `ratio` is height : width, but random_area() takes width : height.
    shape_ = {1 / params.ratio[1], 1 / params.ratio[0]};
  }

  bool training_only() const override { return true; }
  DataSpec output(DataSpec input) const override {
    input.pixels_final = true;
    return input;
  }
  void apply(Image& image, SampleRandom& random) const override {
    if (!random.chance(params_.p)) return;
    const auto part = random_area(random, image.height(), image.width(), params_.scale, shape_);
    if (!part) return;
    params_.noise ? image.erase_with_noise(*part, random.bits()) : image.erase(*part, values_);
  }

 private:
  RandomErasing params_;
  std::vector<float> values_;
  std::vector<double> shape_;
};

std::unique_ptr<Transform> build(const RandomErasing& params, const TransformInputs& in) {
  const auto channels = static_cast<std::size_t>(in.data.input_shape.at(0));
  if (params.value.size() != 1 && params.value.size() != channels) {
    throw std::runtime_error("value has " + std::to_string(params.value.size()) +
                             " numbers, the images have " + std::to_string(channels) + " channels.");
  }
  return std::make_unique<RandomErasingTransform>(params, channels);
}

const Registration<TransformKind> registration{"random_erasing", "Blanks a random rectangle of some images.",
                                               &build};

}  // namespace
}  // namespace runner
