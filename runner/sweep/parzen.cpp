#include "runner/sweep/parzen.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace runner {

namespace {

constexpr std::size_t full_weight = 25;  // that many of the latest count fully
constexpr double prior_weight = 1;

// One for each value and one for the wide kernel; they add up to 1.
std::vector<double> kernel_weights(std::size_t count) {
  std::vector<double> weights(count, 1.0);
  if (count >= full_weight) {
    const std::size_t fading = count - full_weight;
    const double first = 1.0 / static_cast<double>(count);
    for (std::size_t i = 0; i < fading; ++i) {
      const double share = fading > 1 ? static_cast<double>(i) / static_cast<double>(fading - 1) : 0;
      weights[i] = first + share * (1 - first);
    }
  }
  weights.push_back(prior_weight);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= total;
  return weights;
}

std::size_t choose(const std::vector<double>& weights, SampleRandom& random) {
  double left = random.uniform();
  for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return i;
  }
  return weights.size() - 1;
}

class Categories final : public Parzen {
 public:
  Categories(std::size_t choices, const std::vector<double>& values) : shares_(choices) {
    const std::vector<double> weights = kernel_weights(values.size());
    const auto kernels = static_cast<double>(weights.size());
    const double rest = prior_weight / kernels, all = 1 + rest * static_cast<double>(choices);
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (double& share : shares_) share += weights[i] * rest / all;
      shares_[static_cast<std::size_t>(values[i])] += weights[i] / all;
    }
    for (double& share : shares_) share += weights.back() / static_cast<double>(choices);
  }

  double draw(SampleRandom& random) const override { return static_cast<double>(choose(shares_, random)); }
  double log_density(double value) const override {
    return std::log(shares_[static_cast<std::size_t>(value)]);
  }

 private:
  std::vector<double> shares_;
};

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// The inverse of normal_cdf, by halving: it is called a few hundred times a trial.
double normal_quantile(double probability) {
  double low = -12, high = 12;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (normal_cdf(middle) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

// Normal distributions cut off at the ends of the range; whole numbers take what lies within half a step of
// them.
class Numbers final : public Parzen {
 public:
  Numbers(const Parameter& parameter, const std::vector<double>& values)
      : parameter_(parameter), weights_(kernel_weights(values.size())) {
    const double margin = parameter.kind == Parameter::Kind::integer ? parameter.step / 2 : 0;
    low_ = inner(parameter.low) - margin;
    high_ = inner(parameter.high) + margin;
    for (const double value : values) centres_.push_back(inner(value));
    centres_.push_back((low_ + high_) / 2);
    find_widths();
  }

  double draw(SampleRandom& random) const override {
    const std::size_t kernel = choose(weights_, random);
    const double below = cdf(low_, kernel), above = cdf(high_, kernel);
    const double drawn = centres_[kernel] + widths_[kernel] * normal_quantile(random.uniform(below, above));
    const double inside = std::clamp(drawn, low_, high_);
    if (parameter_.kind == Parameter::Kind::integer) {
      const double steps = std::round((inside - parameter_.low) / parameter_.step);
      return std::clamp(parameter_.low + steps * parameter_.step, parameter_.low, parameter_.high);
    }
    return std::clamp(parameter_.log ? std::exp(inside) : inside, parameter_.low, parameter_.high);
  }

  double log_density(double value) const override {
    const double x = inner(value), half = parameter_.step / 2;
    double density = 0;
    for (std::size_t k = 0; k < centres_.size(); ++k) {
      const double whole = cdf(high_, k) - cdf(low_, k), z = (x - centres_[k]) / widths_[k];
      const double here = parameter_.kind == Parameter::Kind::integer
                              ? cdf(x + half, k) - cdf(x - half, k)
                              : std::exp(-z * z / 2) / (widths_[k] * std::sqrt(2 * std::numbers::pi));
      density += weights_[k] * here / whole;
    }
    return std::log(std::max(density, 1e-300));
  }

 private:
  double inner(double value) const { return parameter_.log ? std::log(value) : value; }
  double cdf(double x, std::size_t kernel) const {
    return normal_cdf((x - centres_[kernel]) / widths_[kernel]);
  }

  // As wide as the gap to the farther of the two neighbours, within limits.
  void find_widths() {
    const std::size_t count = centres_.size();
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return centres_[i]; });
    const double widest = high_ - low_, narrowest = widest / std::min(100.0, 1 + static_cast<double>(count));
    widths_.resize(count);
    for (std::size_t place = 0; place < count; ++place) {
      const double here = centres_[order[place]];
      double left = here - (place > 0 ? centres_[order[place - 1]] : low_),
             right = (place + 1 < count ? centres_[order[place + 1]] : high_) - here;
      if (place == 0 && count > 1) left = right;
      if (place + 1 == count && count > 1) right = left;
      widths_[order[place]] = std::clamp(std::max(left, right), narrowest, widest);
    }
    widths_.back() = widest;
  }

  Parameter parameter_;
  std::vector<double> weights_, centres_, widths_;  // the last is the wide one
  double low_ = 0, high_ = 0;
};

}  // namespace

std::unique_ptr<Parzen> make_parzen(const Parameter& parameter, const std::vector<double>& values) {
  if (parameter.kind == Parameter::Kind::choice)
    return std::make_unique<Categories>(parameter.choices.size(), values);
  return std::make_unique<Numbers>(parameter, values);
}

}  // namespace runner
