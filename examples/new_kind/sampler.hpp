// A kind of component that runner does not have: where the points of a dataset come from. Declared once,
// beside its contract; other plugins that include this header can add samplers of their own.
#pragma once

#include <utility>

#include "components/contract/example_random.hpp"
#include "registry/component.hpp"

namespace points {

class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual std::pair<double, double> draw(runner::ExampleRandom& random) const = 0;
};

struct SamplerInputs {};  // what a build gets at run time, beside its own parameters: nothing

struct SamplerKind {
  static constexpr std::string_view name = "sampler";
  static constexpr std::string_view summary = "Where the points of a dataset come from.";
  using Product = Sampler;
  using Inputs = SamplerInputs;
};

}  // namespace points
