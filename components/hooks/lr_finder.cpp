// One short run that tells a good learning rate: the rate rises exponentially
// from update to update while the loss, smoothed, is watched. It falls fastest
// where the rate is as large as it usefully can be for long, and rises again
// where it is too large. (L. N. Smith, Cyclical Learning Rates for Training
// Neural Networks.)
#include <cmath>
#include <stdexcept>

#include "components/hooks/hook.hpp"
#include "registry/log.hpp"

namespace runner {
namespace {

struct LrFinder {
  double lowest = 1e-7;
  double highest = 10;
  std::int64_t steps = 100;
  double smoothing = 0.9;
  double diverged = 4;
};
constexpr auto describe(std::type_identity<LrFinder>) {
  return fields(field("lowest", &LrFinder::lowest, "The first rate.", above(0)),
                field("highest", &LrFinder::highest, "The last rate.", above(0)),
                field("steps", &LrFinder::steps, "Updates from the first to the last.", at_least(10)),
                field("smoothing", &LrFinder::smoothing, "What is kept of the mean loss at each step.",
                      at_least(0), below(1)),
                field("diverged", &LrFinder::diverged,
                      "Ends earlier when the loss is so many times its lowest.", above(1)));
}

void check(const LrFinder& params, Report& report) {
  if (params.highest <= params.lowest) report.error("highest", "is not above \"lowest\"");
}

struct Point {
  double rate;
  double loss;  // smoothed
};

class LrFinderHook : public Hook {
 public:
  explicit LrFinderHook(const LrFinder& params) : params_(params) {}

  void start(const Progress& progress, const std::filesystem::path&, Requests&) override {
    if (progress.total_steps > 0 && progress.total_steps < params_.steps) {
      throw std::runtime_error(
          log::format("Hook \"lr_finder\" needs {} steps, and the run has {}: raise "
                      "train.epochs or train.max_steps, or lower its own \"steps\".",
                      params_.steps, progress.total_steps));
    }
  }

  bool wants_gradients(const Progress&) const override { return true; }

  void before_update(const Progress&, double loss, double, Requests& requests) override {
    mean_ = params_.smoothing * mean_ + (1 - params_.smoothing) * loss;
    weight_ = params_.smoothing * weight_ + (1 - params_.smoothing);
    const double smoothed = mean_ / weight_;
    if (std::isfinite(smoothed)) {
      points_.push_back({rate(static_cast<std::int64_t>(points_.size())), smoothed});
      lowest_loss_ = points_.size() == 1 ? smoothed : std::min(lowest_loss_, smoothed);
      requests.learning_rate(points_.back().rate);
    }
    const bool diverged =
        !std::isfinite(smoothed) || smoothed > lowest_loss_ + (params_.diverged - 1) * std::abs(lowest_loss_);
    if (!diverged && static_cast<std::int64_t>(points_.size()) < params_.steps) return;
    requests.skip_update();
    requests.stop("the learning rates have been tried");
  }

  void finish(const Progress&, Requests& requests) override {
    if (points_.empty()) return;
    Note note{"lr_finder", advice(), {}, "log10 of the learning rate; smoothed loss"};
    for (const auto& [rate, loss] : points_) note.curve.emplace_back(std::log10(rate), loss);
    requests.note(std::move(note));
  }

 private:
  double rate(std::int64_t step) const {
    const double share = static_cast<double>(step) / static_cast<double>(params_.steps - 1);
    return params_.lowest * std::pow(params_.highest / params_.lowest, share);
  }

  // Where the loss falls fastest over the logarithm of the rate, before its
  // lowest point. The first points are left out: the mean is still that of a
  // few losses.
  std::string advice() const {
    const auto lowest = std::ranges::min_element(points_, {}, &Point::loss);
    const Point* steepest = nullptr;
    double slope = 0;
    for (std::size_t i = points_.size() / 10 + 1; i + 1 < points_.size() && points_[i].rate < lowest->rate;
         ++i) {
      const double here = points_[i + 1].loss - points_[i - 1].loss;
      if (here >= slope) continue;
      slope = here;
      steepest = &points_[i];
    }
    if (!steepest)
      return "No rate in this range lowers the loss: choose another one with "
             "\"lowest\" and \"highest\".";
    return log::format(
        "Suggested learning rate: {}. The loss falls fastest "
        "there; it is lowest, {}, at {}, which is "
        "already "
        "too high for a long run.",
        rounded(steepest->rate), rounded(lowest->loss), rounded(lowest->rate));
  }

  static double rounded(double value) {  // to two digits
    if (value == 0) return 0;
    const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 1);
    return std::round(value / unit) * unit;
  }

  LrFinder params_;
  double mean_ = 0, weight_ = 0;  // of the losses so far; the weight makes up
                                  // for a mean that began at 0
  double lowest_loss_ = 0;
  std::vector<Point> points_;
};

std::unique_ptr<Hook> build(const LrFinder& params, const HookInputs&) {
  return std::make_unique<LrFinderHook>(params);
}

const Registration<HookKind> registration{
    "lr_finder",
    "Tries rising learning rates, draws the loss over them, suggests one and "
    "ends the run.",
    &build};

}  // namespace
}  // namespace runner
