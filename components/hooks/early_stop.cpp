#include <cmath>

#include "components/hooks/hook.hpp"

namespace runner {
namespace {

struct EarlyStop {
  std::string metric;
  std::optional<Better> mode;
  std::int64_t patience = 5;
  double min_delta = 0;
};
constexpr auto describe(std::type_identity<EarlyStop>) {
  return fields(
      field("metric", &EarlyStop::metric, "The metric that decides, such as \"eval/accuracy\".", required(),
            non_empty()),
      field("mode", &EarlyStop::mode,
            "Which direction is better; needed only for a metric that does not say."),
      field("patience", &EarlyStop::patience, "Evaluations without improvement after which the run stops.",
            at_least(1)),
      field("min_delta", &EarlyStop::min_delta, "How much better counts as an improvement.", at_least(0)));
}

class EarlyStopHook : public Hook {
 public:
  EarlyStopHook(EarlyStop settings, Better better) : settings_(std::move(settings)), better_(better) {}

  void after_eval(const Progress&, const Measurements& measurements, Requests& requests) override {
    const auto value = find_measurement(measurements, settings_.metric);
    if (!value) return;
    if (improves(*value)) {
      best_ = value;
      waited_ = 0;
    } else if (++waited_ >= settings_.patience) {
      std::ostringstream reason;
      reason << settings_.metric << " has not improved for " << waited_ << " evaluations";
      if (best_) reason << " (best: " << *best_ << ")";
      requests.stop(reason.str());
    }
  }

  State save() const override {
    State state{.integers = {{"waited", waited_}}};
    if (best_) state.numbers["best"] = *best_;
    return state;
  }

  void load(const State& state) override {
    StateReader saved(state);
    waited_ = saved.integer("waited");
    best_ = saved.find_number("best");
    saved.finish();
  }

 private:
  bool improves(double value) const {
    if (std::isnan(value)) return false;
    if (!best_) return true;
    const double delta = better_ == Better::max ? settings_.min_delta : -settings_.min_delta;
    return is_better(better_, value, *best_ + delta);
  }

  EarlyStop settings_;
  Better better_;
  std::optional<double> best_;
  std::int64_t waited_ = 0;  // evaluations since the best
};

Watched watched(const EarlyStop& settings) { return {settings.metric, settings.mode}; }

HookFacts facts(const EarlyStop& settings) { return {.watches = watched(settings), .saves_models = false}; }

std::unique_ptr<Hook> build(const EarlyStop& settings, const HookInputs& inputs) {
  return std::make_unique<EarlyStopHook>(
      settings, direction_of(watched(settings), inputs.measured, "hook \"early_stop\""));
}

const Registration<HookKind> registration{"early_stop", "Stops the run when a metric no longer improves.",
                                          &build};

}  // namespace
}  // namespace runner
