// Finds a good learning rate in one short run: the rate rises exponentially from update to update while the
// smoothed loss is recorded. The loss falls fastest at about the largest rate that is usable for a whole run,
// and rises again if the rate is too high. (L. N. Smith, Cyclical Learning Rates for Training Neural
// Networks.)
#include <cmath>
#include <stdexcept>

#include "components/hooks/hook.hpp"
#include "registry/base/log.hpp"

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
  return fields(field("lowest", &LrFinder::lowest, "The first learning rate.", above(0)),
                field("highest", &LrFinder::highest, "The last learning rate.", above(0)),
                field("steps", &LrFinder::steps, "Updates from the first to the last.", at_least(10)),
                field("smoothing", &LrFinder::smoothing, "Decay of the running mean of the loss.",
                      at_least(0), below(1)),
                field("diverged", &LrFinder::diverged,
                      "Ends early when the loss exceeds its lowest value by this factor.", above(1)));
}

void check(const LrFinder& settings, Report& report) {
  if (settings.highest <= settings.lowest) report.error("highest", "is not above \"lowest\"");
}

constexpr const char* has_finished = "lr_finder has finished; see its result";

struct Point {
  double rate;
  double loss;  // smoothed
};

class LrFinderHook : public Hook {
 public:
  LrFinderHook(const LrFinder& settings, bool gradients_may_overflow)
      : settings_(settings), gradients_may_overflow_(gradients_may_overflow) {}

  void start(const Progress& progress, const std::filesystem::path&, Requests&) override {
    if (progress.total_steps > 0 && progress.total_steps < settings_.steps) {
      throw std::runtime_error(
          log::format("Hook \"lr_finder\" needs {} steps, and the run has {}: raise train.epochs or "
                      "train.max_steps, or lower its own \"steps\".",
                      settings_.steps, progress.total_steps));
    }
  }

  bool wants_gradients(const Progress&) const override { return true; }

  void before_update(const Progress&, double loss, double gradient_norm, Requests& requests) override {
    finished_ = static_cast<std::int64_t>(points_.size()) >= settings_.steps;  // reopened after its end
    if (finished_) return requests.skip_update();
    mean_ = settings_.smoothing * mean_ + (1 - settings_.smoothing) * loss;
    weight_ = settings_.smoothing * weight_ + (1 - settings_.smoothing);
    const double smoothed = mean_ / weight_;
    const bool bad_gradient = !gradients_may_overflow_ && !std::isfinite(gradient_norm);
    finished_ = bad_gradient || !std::isfinite(smoothed);
    if (finished_) return requests.skip_update();
    points_.push_back({rate(static_cast<std::int64_t>(points_.size())), smoothed});
    requests.learning_rate(points_.back().rate);
    const double lowest = lowest_point().loss;
    const bool diverged = smoothed > lowest + (settings_.diverged - 1) * std::abs(lowest);
    finished_ = diverged || static_cast<std::int64_t>(points_.size()) == settings_.steps;
  }

  // Not before the update: at the highest rates, losses and gradients that are not finite are expected, and a
  // run that stops because of them has failed.
  void after_step(const Progress&, Requests& requests) override {
    if (finished_) requests.stop(has_finished);
  }

  void finish(const Progress&, Requests& requests) override {
    if (points_.empty()) return;
    const Point* steepest = steepest_point();
    if (steepest) requests.log("lr_finder/suggestion", steepest->rate);
    Note note{"lr_finder", advice(steepest), {}, "log10 of the learning rate; smoothed loss"};
    // Only losses up to as far above the first as the lowest is below it: an exploding loss would flatten the
    // rest of the curve.
    const double highest = 2 * points_.front().loss - lowest_point().loss;
    for (const auto& [rate, loss] : points_) {
      if (loss <= highest || !steepest) note.curve.emplace_back(std::log10(rate), loss);
    }
    requests.note(std::move(note));
  }

  State save() const override {
    State state{.numbers = {{"mean", mean_}, {"weight", weight_}}};
    torch::Tensor curve = torch::empty({static_cast<std::int64_t>(points_.size()), 2}, torch::kFloat64);
    for (std::size_t i = 0; i < points_.size(); ++i) {
      curve.mutable_data_ptr<double>()[2 * i] = points_[i].rate;
      curve.mutable_data_ptr<double>()[2 * i + 1] = points_[i].loss;
    }
    state.tensors["curve"] = curve;
    return state;
  }

  void load(const State& state) override {
    StateReader saved(state);
    mean_ = saved.number("mean");
    weight_ = saved.number("weight");
    const torch::Tensor curve = saved.tensor("curve").contiguous();
    if (curve.dim() != 2 || curve.size(1) != 2) throw StateError("\"curve\" is not a list of points");
    points_.clear();
    for (std::int64_t i = 0; i < curve.size(0); ++i)
      points_.push_back({curve[i][0].item<double>(), curve[i][1].item<double>()});
    saved.finish();
  }

 private:
  double rate(std::int64_t step) const {
    const double share = static_cast<double>(step) / static_cast<double>(settings_.steps - 1);
    return settings_.lowest * std::pow(settings_.highest / settings_.lowest, share);
  }

  const Point& lowest_point() const { return *std::ranges::min_element(points_, {}, &Point::loss); }

  // The point before the lowest one at which the loss falls fastest over the logarithm of the rate. The first
  // points are skipped: they are means of only a few losses.
  const Point* steepest_point() const {
    const std::size_t reach = 1 + points_.size() / 40, first = points_.size() / 10 + reach;
    const Point* steepest = nullptr;
    double steepest_fall = 0;
    const double lowest_rate = lowest_point().rate;
    for (std::size_t i = first; i + reach < points_.size(); ++i) {
      if (points_[i].rate >= lowest_rate) break;
      const double fall = points_[i - reach].loss - points_[i + reach].loss;
      if (fall <= steepest_fall) continue;
      steepest_fall = fall;
      steepest = &points_[i];
    }
    return steepest;
  }

  std::string advice(const Point* steepest) const {
    if (!steepest)
      return "No rate in this range lowers the loss: choose another with \"lowest\" and \"highest\".";
    return log::format(
        "Suggested learning rate: {}. The loss falls fastest there; it is lowest, {}, at {}, which is too "
        "high for long.",
        rounded(steepest->rate), rounded(lowest_point().loss), rounded(lowest_point().rate));
  }

  static double rounded(double value) {  // to two digits
    if (value == 0) return 0;
    const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 1);
    return std::round(value / unit) * unit;
  }

  LrFinder settings_;
  bool gradients_may_overflow_;  // the precision skips such updates
  bool finished_ = false;
  double mean_ = 0, weight_ = 0;  // running mean of the loss, and its bias correction
  std::vector<Point> points_;
};

HookFacts facts(const LrFinder&) { return {.saves_models = false}; }

std::unique_ptr<Hook> build(const LrFinder& settings, const HookInputs& inputs) {
  return std::make_unique<LrFinderHook>(settings, inputs.precision_skips);
}

const Registration<HookKind> registration{
    "lr_finder",
    "Learning-rate finder: tries increasing rates, plots the loss over them, suggests one and ends the run.",
    &build};

}  // namespace
}  // namespace runner
