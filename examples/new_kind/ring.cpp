#include <cmath>
#include <numbers>

#include "sampler.hpp"

namespace {

using namespace runner;

struct Ring {
  double inner = 0.5, outer = 1.5;
};

constexpr auto describe(std::type_identity<Ring>) {
  return fields(field("inner", &Ring::inner, "Inner radius.", at_least(0)),
                field("outer", &Ring::outer, "Outer radius.", above(0)));
}

void check(const Ring& ring, Report& report) {
  if (ring.inner >= ring.outer) report.error("inner", "must be below outer");
}

class RingSampler final : public points::Sampler {
 public:
  explicit RingSampler(const Ring& params) : params_(params) {}

  std::pair<double, double> draw(SampleRandom& random) const override {
    const double radius = random.uniform(params_.inner, params_.outer);
    const double angle = random.uniform(0, 2 * std::numbers::pi);
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  Ring params_;
};

std::unique_ptr<points::Sampler> build(const Ring& params, const points::SamplerInputs&) {
  return std::make_unique<RingSampler>(params);
}

const Registration<points::SamplerKind> registration{"ring", "From a ring around the origin.", &build};

}  // namespace
