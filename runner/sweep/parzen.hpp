#pragma once

#include <memory>
#include <vector>

#include "components/contract/sample_random.hpp"
#include "runner/sweep/space.hpp"

namespace runner {

// A density over the values of one parameter: a kernel around each value that was tried, and a wide one over
// all of them, so that nothing is ever ruled out.
class Parzen {
 public:
  virtual ~Parzen() = default;
  virtual double draw(SampleRandom& random) const = 0;
  virtual double log_density(double value) const = 0;
};

// Values in the order in which they were tried: of many, the oldest count less.
std::unique_ptr<Parzen> make_parzen(const Parameter& parameter, const std::vector<double>& values);

}  // namespace runner
