#include <algorithm>
#include <cmath>

#include "components/transforms/mixing.hpp"
#include "components/transforms/transform.hpp"

namespace runner {
namespace {

struct Cutmix {
  double alpha = 1;
  double p = 1;
};
constexpr auto describe(std::type_identity<Cutmix>) {
  return fields(
      field("alpha", &Cutmix::alpha,
            "Parameter of the Beta distribution of the share that is kept: small values mix little.",
            above(0)),
      field("p", &Cutmix::p, "Probability that a batch is mixed.", within(0, 1)));
}

// A rectangle of x[i] is taken from x[i - 1]; targets are mixed by its share of the area. Yun et al.,
// "CutMix", 2019.
class CutmixTransform : public Transform {
 public:
  CutmixTransform(const Cutmix& settings, std::int64_t classes) : settings_(settings), classes_(classes) {}

  bool training_only() const override { return true; }
  DataSpec output(DataSpec input) const override { return with_soft_targets(std::move(input)); }
  void apply_to_batch(Batch& batch, ExampleRandom& random) const override {
    soften_targets(batch, classes_);
    if (!random.chance(settings_.p)) return;
    const std::int64_t height = batch.input.size(2);
    const std::int64_t width = batch.input.size(3);
    const Rectangle part = draw(random, height, width);
    paste_previous(batch.input, part);
    const double share =
        1.0 - static_cast<double>(part.height * part.width) / static_cast<double>(height * width);
    blend_with_previous(batch.target.data_ptr<float>(), batch.size(), classes_, share);
  }

 private:
  // The centre is anywhere in the image, so the edge of the image may cut off a part of the rectangle.
  Rectangle draw(ExampleRandom& random, std::int64_t height, std::int64_t width) const {
    const double edge = 0.5 * std::sqrt(1.0 - draw_share(random, settings_.alpha));
    const std::int64_t x = random.below(width);
    const std::int64_t y = random.below(height);
    const auto half_width = static_cast<std::int64_t>(edge * static_cast<double>(width));
    const auto half_height = static_cast<std::int64_t>(edge * static_cast<double>(height));
    const std::int64_t left = std::max<std::int64_t>(0, x - half_width);
    const std::int64_t top = std::max<std::int64_t>(0, y - half_height);
    return {top, left, std::min(height, y + half_height) - top, std::min(width, x + half_width) - left};
  }

  // From last to first, so that the previous example is still unchanged; only the last one has to be saved.
  static void paste_previous(torch::Tensor& input, const Rectangle& part) {
    const std::int64_t step = input.stride(0);
    float* first = input.data_ptr<float>();
    float* last = first + (input.size(0) - 1) * step;
    const std::vector<float> kept(last, last + step);
    for (float* example = last; example != first; example -= step)
      paste(input, part, example - step, example);
    paste(input, part, kept.data(), first);
  }

  static void paste(const torch::Tensor& layout, const Rectangle& part, const float* from, float* to) {
    for (std::int64_t channel = 0; channel < layout.size(1); ++channel) {
      for (std::int64_t row = part.top; row < part.top + part.height; ++row) {
        const std::int64_t start = channel * layout.stride(1) + row * layout.stride(2);
        for (std::int64_t column = part.left; column < part.left + part.width; ++column) {
          const std::int64_t at = start + column * layout.stride(3);
          to[at] = from[at];
        }
      }
    }
  }

  Cutmix settings_;
  std::int64_t classes_;
};

TransformFacts facts(const Cutmix&) { return {.mixes_examples = true}; }

std::unique_ptr<Transform> build(const Cutmix& settings, const TransformInputs& inputs) {
  return std::make_unique<CutmixTransform>(settings, with_soft_targets(inputs.data).classes);
}

const Registration<TransformKind> registration{
    "cutmix", "Pastes a rectangle of another example into each one.", &build};

}  // namespace
}  // namespace runner
