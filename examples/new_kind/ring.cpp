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
  explicit RingSampler(const Ring& settings) : settings_(settings) {}

  std::pair<double, double> draw(ExampleRandom& random) const override {
    const double radius = random.uniform(settings_.inner, settings_.outer);
    const double angle = random.uniform(0, 2 * std::numbers::pi);
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  Ring settings_;
};

std::unique_ptr<points::Sampler> build(const Ring& settings, const points::SamplerInputs&) {
  return std::make_unique<RingSampler>(settings);
}

const Registration<points::SamplerKind> registration{"ring", "From a ring around the origin.", &build};

}  // namespace
