// A transform of your own: the colours of some images are inverted.
#include "components/transforms/transform.hpp"

namespace {

using namespace runner;

struct MyTransform {
  double p = 0.5;
};

constexpr auto describe(std::type_identity<MyTransform>) {
  return fields(field("p", &MyTransform::p, "Probability that an image is inverted.", within(0, 1)));
}

// Threads share it, so it keeps nothing that changes; all randomness comes from the generator it is given.
class MyTransformInvert final : public Transform {
 public:
  explicit MyTransformInvert(const MyTransform& settings) : settings_(settings) {}

  bool training_only() const override { return true; }  // it is random
  void apply(Image& image, ExampleRandom& random) const override {
    if (!random.chance(settings_.p)) return;
    const ImageView before = image.pixels();
    std::uint8_t* after = image.draft(before.height, before.width);  // channel after channel
    for (std::int64_t channel = 0; channel < before.channels; ++channel) {
      for (std::int64_t row = 0; row < before.height; ++row) {
        for (std::int64_t column = 0; column < before.width; ++column)
          *after++ = static_cast<std::uint8_t>(255 - *before.at(channel, row, column));
      }
    }
    image.replace(before.height, before.width);
  }

 private:
  MyTransform settings_;
};

std::unique_ptr<Transform> build(const MyTransform& settings, const TransformInputs&) {
  return std::make_unique<MyTransformInvert>(settings);
}

const Registration<TransformKind> registration{"my_transform", "Inverts the colours of some images.", &build};

}  // namespace
