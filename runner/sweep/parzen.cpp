#include "runner/sweep/parzen.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace runner {

namespace {

constexpr std::size_t full_weight = 25;  // number of newest observations with full weight
constexpr double prior_weight = 1;

// A weight for each value and one for the wide kernel; their sum is 1.
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

std::size_t choose(const std::vector<double>& weights, ExampleRandom& random) {
  double left = random.uniform();
  for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return i;
  }
  return weights.size() - 1;
}

class CategoryKernels final : public Kernels {
 public:
  CategoryKernels(std::size_t choices, std::vector<double> values)
      : choices_(static_cast<double>(choices)), values_(std::move(values)) {
    const double rest = prior_weight / static_cast<double>(values_.size() + 1);
    other_ = rest / (1 + rest * choices_);
    own_ = (1 + rest) / (1 + rest * choices_);
  }

  double draw(std::size_t kernel, ExampleRandom& random) const override {
    const auto any = static_cast<double>(random.below(static_cast<std::int64_t>(choices_)));
    if (kernel == values_.size() || random.chance(other_ * choices_)) return any;
    return values_[kernel];
  }
  double log_density(std::size_t kernel, double value) const override {
    if (kernel == values_.size()) return -std::log(choices_);
    return std::log(value == values_[kernel] ? own_ : other_);
  }

 private:
  double choices_;
  std::vector<double> values_;
  double own_ = 0, other_ = 0;  // probability of a kernel's own value, and of each other value
};

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// The inverse of normal_cdf by bisection; fast enough for a few hundred calls per trial.
double normal_quantile(double probability) {
  double low = -12, high = 12;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (normal_cdf(middle) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

// Normal distributions truncated at the ends of the range. An integer has the probability of the interval
// from half a step below it to half a step above it.
class NumberKernels final : public Kernels {
 public:
  NumberKernels(const Parameter& parameter, const std::vector<double>& values) : parameter_(parameter) {
    low_ = inner(parameter.low - parameter.half_step());
    high_ = inner(parameter.high + parameter.half_step());
    for (const double value : values) centres_.push_back(inner(value));
    find_widths();
    centres_.push_back((low_ + high_) / 2);
    widths_.push_back(high_ - low_);
  }

  double draw(std::size_t kernel, ExampleRandom& random) const override {
    const double below = cdf(low_, kernel), above = cdf(high_, kernel);
    const double drawn = centres_[kernel] + widths_[kernel] * normal_quantile(random.uniform(below, above));
    const double inside = std::clamp(drawn, low_, high_);
    return parameter_.rounded(parameter_.log ? std::exp(inside) : inside);
  }

  double log_density(std::size_t kernel, double value) const override {
    const double whole = cdf(high_, kernel) - cdf(low_, kernel);
    if (const double half = parameter_.half_step(); half > 0) {
      const double share = cdf(inner(value + half), kernel) - cdf(inner(value - half), kernel);
      return std::log(std::max(share, 1e-300) / whole);
    }
    const double z = (inner(value) - centres_[kernel]) / widths_[kernel];
    return -z * z / 2 - std::log(widths_[kernel] * std::sqrt(2 * std::numbers::pi) * whole);
  }

 private:
  double inner(double value) const { return parameter_.log ? std::log(value) : value; }
  double cdf(double x, std::size_t kernel) const {
    return normal_cdf((x - centres_[kernel]) / widths_[kernel]);
  }

  // Each kernel is as wide as the distance to the farther of its two neighbours, within limits.
  void find_widths() {
    const std::size_t count = centres_.size();
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return centres_[i]; });
    const double widest = high_ - low_, narrowest = widest / std::min(100.0, 2 + static_cast<double>(count));
    widths_.resize(count);
    for (std::size_t place = 0; place < count; ++place) {
      const double here = centres_[order[place]];
      double left = here - (place > 0 ? centres_[order[place - 1]] : low_),
             right = (place + 1 < count ? centres_[order[place + 1]] : high_) - here;
      if (place == 0 && count > 1) left = right;
      if (place + 1 == count && count > 1) right = left;
      widths_[order[place]] = std::clamp(std::max(left, right), narrowest, widest);
    }
  }

  Parameter parameter_;
  std::vector<double> centres_, widths_;  // the last is the wide one
  double low_ = 0, high_ = 0;
};

}  // namespace

Parzen::Parzen(const std::vector<Parameter>& parameters, const std::vector<Point>& points)
    : weights_(kernel_weights(points.size())) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::vector<double> values;
    for (const Point& point : points) values.push_back(point[i]);
    if (parameters[i].kind == Parameter::Kind::choice) {
      kernels_.push_back(std::make_unique<CategoryKernels>(parameters[i].choices.size(), std::move(values)));
    } else {
      kernels_.push_back(std::make_unique<NumberKernels>(parameters[i], values));
    }
  }
}

Point Parzen::draw(ExampleRandom& random) const {
  const std::size_t kernel = choose(weights_, random);
  Point point;
  for (const auto& kernels : kernels_) point.push_back(kernels->draw(kernel, random));
  return point;
}

double Parzen::log_density(const Point& point) const {
  std::vector<double> logs;
  for (std::size_t kernel = 0; kernel < weights_.size(); ++kernel) {
    double sum = std::log(weights_[kernel]);
    for (std::size_t i = 0; i < kernels_.size(); ++i) sum += kernels_[i]->log_density(kernel, point[i]);
    logs.push_back(sum);
  }
  const double largest = std::ranges::max(logs);
  double sum = 0;
  for (const double each : logs) sum += std::exp(each - largest);
  return largest + std::log(sum);
}

}  // namespace runner
