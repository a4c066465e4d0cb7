#include "components/transforms/mixing.hpp"
#include "components/transforms/transform.hpp"

namespace runner {
namespace {

struct Mixup {
  double alpha = 1;
  double p = 1;
};
constexpr auto describe(std::type_identity<Mixup>) {
  return fields(field("alpha", &Mixup::alpha,
                      "Parameter of the Beta distribution of the share: small values mix little.", above(0)),
                field("p", &Mixup::p, "Probability that a batch is mixed.", within(0, 1)));
}

// x[i] = share x[i] + (1 - share) x[i - 1], and the same for the targets. Zhang et al., "mixup: Beyond
// Empirical Risk Minimization", 2018.
class MixupTransform : public Transform {
 public:
  MixupTransform(const Mixup& settings, std::int64_t classes) : settings_(settings), classes_(classes) {}

  bool training_only() const override { return true; }
  DataSpec output(DataSpec input) const override { return with_soft_targets(std::move(input)); }
  void apply_to_batch(Batch& batch, ExampleRandom& random) const override {
    soften_targets(batch, classes_);
    if (!random.chance(settings_.p)) return;
    const double share = draw_share(random, settings_.alpha);
    blend_with_previous(batch.input.data_ptr<float>(), batch.size(), batch.input.stride(0), share);
    blend_with_previous(batch.target.data_ptr<float>(), batch.size(), classes_, share);
  }

 private:
  Mixup settings_;
  std::int64_t classes_;
};

TransformFacts facts(const Mixup&) { return {.mixes_examples = true}; }

std::unique_ptr<Transform> build(const Mixup& settings, const TransformInputs& inputs) {
  return std::make_unique<MixupTransform>(settings, with_soft_targets(inputs.data).classes);
}

const Registration<TransformKind> registration{"mixup", "Blends each example of a batch with another one.",
                                               &build};

}  // namespace
}  // namespace runner
