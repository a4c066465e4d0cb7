#include <algorithm>
#include <cmath>

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

// Complete trials first, ordered by value; then those stopped early, ordered by how far they got.
std::vector<std::size_t> ranked(std::span<const Observation> observations) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < observations.size(); ++i) {
    if (!observations[i].running) order.push_back(i);
  }
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
    const std::vector<std::size_t> order = ranked(observations);
    if (order.size() < random_trials) return random_->next(trial, observations);
    std::vector<bool> good(observations.size());
    for (std::size_t i = 0; i < good_trials(order.size()); ++i) good[order[i]] = true;
    std::vector<Point> of_good, of_others;  // others include running trials, so that parallel jobs differ
    for (std::size_t i = 0; i < observations.size(); ++i)
      (good[i] ? of_good : of_others).push_back(observations[i].point);
    const Parzen likely(parameters_, of_good), unlikely(parameters_, of_others);
    ExampleRandom random(example_seed(seed_, 1, static_cast<std::uint64_t>(trial)));
    Point best;
    double best_score = -INFINITY;
    for (int i = 0; i < candidates; ++i) {
      Point point = likely.draw(random);
      const double score = likely.log_density(point) - unlikely.log_density(point);
      if (score <= best_score) continue;
      best = std::move(point);
      best_score = score;
    }
    return best;
  }

 private:
  std::vector<Parameter> parameters_;
  std::uint64_t seed_;
  std::unique_ptr<Sampler> random_;
};

}  // namespace

std::unique_ptr<Sampler> tpe_sampler(std::vector<Parameter> parameters, std::uint64_t seed) {
  return std::make_unique<TpeSampler>(std::move(parameters), seed);
}

}  // namespace runner
