#include "sampler.hpp"

namespace {

using namespace runner;

struct Square {
  double side = 2.0;
};

constexpr auto describe(std::type_identity<Square>) {
  return fields(field("side", &Square::side, "Length of a side.", above(0)));
}

class SquareSampler final : public points::Sampler {
 public:
  explicit SquareSampler(const Square& settings) : half_(settings.side / 2) {}

  std::pair<double, double> draw(ExampleRandom& random) const override {
    return {random.uniform(-half_, half_), random.uniform(-half_, half_)};
  }

 private:
  double half_;
};

std::unique_ptr<points::Sampler> build(const Square& settings, const points::SamplerInputs&) {
  return std::make_unique<SquareSampler>(settings);
}

const Registration<points::SamplerKind> registration{"square", "Evenly from a square.", &build};

}  // namespace
