#pragma once

#include <memory>
#include <vector>

#include "components/contract/example_random.hpp"
#include "runner/sweep/space.hpp"

namespace runner {

// The kernels that one parameter contributes to a Parzen estimator: one around each value that was tried, and
// a last one as wide as the range.
class Kernels {
 public:
  virtual ~Kernels() = default;
  virtual double draw(std::size_t kernel, ExampleRandom& random) const = 0;
  virtual double log_density(std::size_t kernel, double value) const = 0;
};

// A density over points: a kernel around each point that was tried, which is the product of the kernels of
// its values, and a wide kernel over the whole space, so that nothing is ever ruled out.
class Parzen {
 public:
  // Points in the order in which they were tried. If there are many, the oldest have less weight.
  Parzen(const std::vector<Parameter>& parameters, const std::vector<Point>& points);

  Point draw(ExampleRandom& random) const;
  double log_density(const Point& point) const;

 private:
  std::vector<double> weights_;
  std::vector<std::unique_ptr<Kernels>> kernels_;  // by parameter
};

}  // namespace runner
