#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runner/sweep/space.hpp"

namespace runner {

// The result of a trial.
struct Observation {
  Point point;
  double value = 0;      // lower is better, whatever the direction of the metric
  bool stopped = false;  // early, by halving
  double step = 0;       // the last step
  bool running = false;  // it has no value yet
};

// Chooses the next point to try. All randomness is a function of the seed and the number of the trial, so
// that a restarted sweep continues as it would have without the interruption.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // nullopt: everything was tried.
  virtual std::optional<Point> next(std::int64_t trial, std::span<const Observation> observations) const = 0;
};

// All combinations; the last parameter varies fastest. Throws std::invalid_argument if a parameter has too
// many values to try them all.
std::unique_ptr<Sampler> grid_sampler(std::vector<Parameter> parameters);

std::unique_ptr<Sampler> random_sampler(std::vector<Parameter> parameters, std::uint64_t seed);

// Tree-structured Parzen estimator (Bergstra et al. 2011), with the choices of Optuna's default sampler: ten
// random trials, then of 24 candidates the one with the highest ratio of its density among the good trials to
// that among the others. Densities are joint over all parameters.
std::unique_ptr<Sampler> tpe_sampler(std::vector<Parameter> parameters, std::uint64_t seed);

// A random value; all are equally likely, or, for a logarithmic parameter, their logarithms are.
double random_value(const Parameter& parameter, class ExampleRandom& random);

}  // namespace runner
