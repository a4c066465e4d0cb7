#include "components/transforms/transform.hpp"

namespace runner {
namespace {

struct RandomFlip {
  double horizontal = 0.5;
  double vertical = 0;
};
constexpr auto describe(std::type_identity<RandomFlip>) {
  return fields(
      field("horizontal", &RandomFlip::horizontal, "Probability of swapping left and right.", within(0, 1)),
      field("vertical", &RandomFlip::vertical, "Probability of swapping top and bottom.", within(0, 1)));
}

class RandomFlipTransform : public Transform {
 public:
  explicit RandomFlipTransform(const RandomFlip& settings) : settings_(settings) {}

  bool training_only() const override { return true; }
  void apply(Image& image, ExampleRandom& random) const override {
    if (random.chance(settings_.horizontal)) image.flip_horizontally();
    if (random.chance(settings_.vertical)) image.flip_vertically();
  }

 private:
  RandomFlip settings_;
};

std::unique_ptr<Transform> build(const RandomFlip& settings, const TransformInputs&) {
  return std::make_unique<RandomFlipTransform>(settings);
}

const Registration<TransformKind> registration{"random_flip", "Mirrors some of the images.", &build};

}  // namespace
}  // namespace runner
