#include <algorithm>
#include <cmath>

#include "components/schedulers/scheduler.hpp"

namespace runner {
namespace {

enum class ThresholdMode { rel, abs };
constexpr auto describe(std::type_identity<ThresholdMode>) {
  return choices(choice("rel", ThresholdMode::rel, "the threshold is a share of the best so far"),
                 choice("abs", ThresholdMode::abs, "the threshold is a difference"));
}

struct Plateau {
  std::string metric = "eval/loss";
  std::optional<Better> mode;
  double factor = 0.1;
  std::int64_t patience = 10;
  double threshold = 1e-4;
  ThresholdMode threshold_mode = ThresholdMode::rel;
  std::int64_t cooldown = 0;
  double min = 0.0;
};

constexpr auto describe(std::type_identity<Plateau>) {
  return fields(
      field("metric", &Plateau::metric, "The metric that decides, such as \"eval/accuracy\".", non_empty()),
      field("mode", &Plateau::mode, "Which direction is better; needed only for a metric that does not say."),
      field("factor", &Plateau::factor, "What the learning rate is multiplied by.", above(0), below(1)),
      field("patience", &Plateau::patience,
            "Evaluations without improvement to wait before the learning rate drops.", at_least(0)),
      field("threshold", &Plateau::threshold, "How much better counts as an improvement.", at_least(0)),
      field("threshold_mode", &Plateau::threshold_mode, "How the threshold is interpreted."),
      field("cooldown", &Plateau::cooldown, "Evaluations after a drop that are not counted.", at_least(0)),
      field("min", &Plateau::min, "Where it ends, as a share of the peak.", within(0, 1)));
}

// torch.optim's ReduceLROnPlateau.
class PlateauSchedule final : public Scheduler {
 public:
  PlateauSchedule(const Plateau& settings, Better better) : settings_(settings), better_(better) {}

  double factor(double /*at*/) const override { return factor_; }

  void observe(const Measurements& measurements) override {
    const auto value = find_measurement(measurements, settings_.metric);
    if (!value) return;
    if (improves(*value)) {
      best_ = value;
      waited_ = 0;
    } else {
      ++waited_;
    }
    if (cooldown_ > 0) {
      --cooldown_;
      waited_ = 0;
    }
    if (waited_ <= settings_.patience) return;
    factor_ = std::min(factor_, std::max(factor_ * settings_.factor, settings_.min));
    cooldown_ = settings_.cooldown;
    waited_ = 0;
  }

  State save() const override {
    State state{.integers = {{"waited", waited_}, {"cooldown", cooldown_}}, .numbers = {{"factor", factor_}}};
    if (best_) state.numbers["best"] = *best_;
    return state;
  }

  void load(const State& state) override {
    StateReader saved(state);
    factor_ = saved.number("factor");
    waited_ = saved.integer("waited");
    cooldown_ = saved.integer("cooldown");
    best_ = saved.find_number("best");
    saved.finish();
  }

 private:
  bool improves(double value) const {
    if (std::isnan(value)) return false;
    if (!best_) return true;
    const double step = better_ == Better::min ? -settings_.threshold : settings_.threshold;
    // best - threshold * best would be NaN for an infinite best, and nothing would ever be better.
    const double bound = settings_.threshold_mode == ThresholdMode::rel ? *best_ * (1 + step) : *best_ + step;
    return is_better(better_, value, bound);
  }

  Plateau settings_;
  Better better_;
  double factor_ = 1.0;
  std::optional<double> best_;
  std::int64_t waited_ = 0;    // evaluations since the best, or since the last drop
  std::int64_t cooldown_ = 0;  // evaluations that are still not counted
};

Watched watched(const Plateau& settings) { return {settings.metric, settings.mode}; }

SchedulerFacts facts(const Plateau& settings) { return {{watched(settings)}}; }

std::unique_ptr<Scheduler> build(const Plateau& settings, const SchedulerInputs& inputs) {
  const Better better = inputs.measured.empty()
                            ? settings.mode.value_or(Better::min)  // nothing will be observed
                            : direction_of(watched(settings), inputs.measured, "scheduler \"plateau\"");
  return std::make_unique<PlateauSchedule>(settings, better);
}

const Registration<SchedulerKind> registration{
    "plateau", "Multiplies the learning rate by a factor whenever a metric no longer improves.", &build};

}  // namespace
}  // namespace runner
