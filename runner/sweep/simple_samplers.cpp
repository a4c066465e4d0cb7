#include <cmath>
#include <stdexcept>

#include "components/contract/example_random.hpp"
#include "registry/base/wording.hpp"
#include "runner/sweep/sampler.hpp"

namespace runner {

namespace {

class GridSampler final : public Sampler {
 public:
  explicit GridSampler(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {
    for (const Parameter& parameter : parameters_) {
      if (!parameter.countable()) {
        throw std::invalid_argument(
            in_quotes(parameter.key) +
            " has more values than a grid can try; use --search random or --search tpe");
      }
    }
  }

  std::optional<Point> next(std::int64_t trial, std::span<const Observation>) const override {
    auto rest = static_cast<std::size_t>(trial);
    Point point(parameters_.size());
    for (std::size_t i = parameters_.size(); i-- > 0;) {
      const std::size_t count = parameters_[i].count();
      point[i] = parameters_[i].value(rest % count);
      rest /= count;
    }
    return rest == 0 ? std::optional(point) : std::nullopt;
  }

 private:
  std::vector<Parameter> parameters_;
};

class RandomSampler final : public Sampler {
 public:
  RandomSampler(std::vector<Parameter> parameters, std::uint64_t seed)
      : parameters_(std::move(parameters)), seed_(seed) {}

  std::optional<Point> next(std::int64_t trial, std::span<const Observation>) const override {
    ExampleRandom random(example_seed(seed_, 0, static_cast<std::uint64_t>(trial)));
    Point point;
    for (const Parameter& parameter : parameters_) point.push_back(random_value(parameter, random));
    return point;
  }

 private:
  std::vector<Parameter> parameters_;
  std::uint64_t seed_;
};

}  // namespace

double random_value(const Parameter& parameter, ExampleRandom& random) {
  if (parameter.countable())
    return parameter.value(
        static_cast<std::size_t>(random.below(static_cast<std::int64_t>(parameter.count()))));
  if (!parameter.log) return parameter.rounded(random.uniform(parameter.low, parameter.high));
  const double half = parameter.half_step();
  return parameter.rounded(
      std::exp(random.uniform(std::log(parameter.low - half), std::log(parameter.high + half))));
}

std::unique_ptr<Sampler> grid_sampler(std::vector<Parameter> parameters) {
  return std::make_unique<GridSampler>(std::move(parameters));
}

std::unique_ptr<Sampler> random_sampler(std::vector<Parameter> parameters, std::uint64_t seed) {
  return std::make_unique<RandomSampler>(std::move(parameters), seed);
}

}  // namespace runner
