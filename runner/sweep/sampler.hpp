#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runner/sweep/space.hpp"

namespace runner {

// What a trial came to.
struct Observation {
  Point point;
  double value = 0;      // lower is better, whatever the metric
  bool stopped = false;  // early, because it was hopeless
  double step = 0;       // where it was then
  bool running = false;  // it has no value yet
};

// Says what to try next. Everything random is a function of the seed and the number of the trial, so that a
// sweep that is started again continues as it would have.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // Nothing: everything was tried.
  virtual std::optional<Point> next(std::int64_t trial, std::span<const Observation> observations) const = 0;
};

// All combinations, the last parameter fastest. Throws std::invalid_argument where a parameter has too many
// values to try them all.
std::unique_ptr<Sampler> grid_sampler(std::vector<Parameter> parameters);

std::unique_ptr<Sampler> random_sampler(std::vector<Parameter> parameters, std::uint64_t seed);

// Tree-structured Parzen estimator (Bergstra et al. 2011), with the choices of Optuna's default sampler: ten
// random trials, then the one of 24 candidates that is likeliest among the good trials and least likely among
// the others, all parameters together.
std::unique_ptr<Sampler> tpe_sampler(std::vector<Parameter> parameters, std::uint64_t seed);

// One value, every one equally likely.
double random_value(const Parameter& parameter, class SampleRandom& random);

}  // namespace runner
