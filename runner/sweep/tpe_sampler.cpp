#include <algorithm>
#include <cmath>
#include <numeric>

#include "runner/sweep/parzen.hpp"
#include "runner/sweep/sampler.hpp"

namespace runner {

namespace {

constexpr std::size_t random_trials = 10;
constexpr int candidates = 24;

std::size_t good_trials(std::size_t count) {
  constexpr std::size_t most = 25;
  return std::min(most, static_cast<std::size_t>(std::ceil(0.1 * static_cast<double>(count))));
}

// Those that went to their end first, the best in front; of those stopped early, the ones that came farthest.
std::vector<std::size_t> ranked(std::span<const Observation> observations) {
  std::vector<std::size_t> order(observations.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) {
    const Observation &a = observations[i], &b = observations[j];
    if (a.stopped != b.stopped) return b.stopped;
    if (a.stopped && a.step != b.step) return a.step > b.step;
    return a.value < b.value;
  });
  return order;
}

class TpeSampler final : public Sampler {
 public:
  TpeSampler(std::vector<Parameter> parameters, std::uint64_t seed)
      : parameters_(std::move(parameters)), seed_(seed), random_(random_sampler(parameters_, seed)) {}

  std::optional<Point> next(std::int64_t trial, std::span<const Observation> observations) const override {
    if (observations.size() < random_trials) return random_->next(trial, observations);
    const std::vector<std::size_t> order = ranked(observations);
    std::vector<bool> good(observations.size());
    for (std::size_t i = 0; i < good_trials(order.size()); ++i) good[order[i]] = true;
    SampleRandom random(sample_seed(seed_, 1, static_cast<std::uint64_t>(trial)));
    Point point;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      std::vector<double> of_good, of_others;
      for (std::size_t k = 0; k < observations.size(); ++k)
        (good[k] ? of_good : of_others).push_back(observations[k].point[i]);
      point.push_back(most_promising(parameters_[i], of_good, of_others, random));
    }
    return point;
  }

 private:
  static double most_promising(const Parameter& parameter, const std::vector<double>& good,
                               const std::vector<double>& others, SampleRandom& random) {
    const auto likely = make_parzen(parameter, good), unlikely = make_parzen(parameter, others);
    double best = 0, best_score = -INFINITY;
    for (int i = 0; i < candidates; ++i) {
      const double value = likely->draw(random);
      const double score = likely->log_density(value) - unlikely->log_density(value);
      if (score <= best_score) continue;
      best = value;
      best_score = score;
    }
    return best;
  }

  std::vector<Parameter> parameters_;
  std::uint64_t seed_;
  std::unique_ptr<Sampler> random_;
};

}  // namespace

std::unique_ptr<Sampler> tpe_sampler(std::vector<Parameter> parameters, std::uint64_t seed) {
  return std::make_unique<TpeSampler>(std::move(parameters), seed);
}

}  // namespace runner
