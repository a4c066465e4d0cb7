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
  EarlyStopHook(EarlyStop params, Better better) : params_(std::move(params)), better_(better) {}

  void after_eval(const Progress&, const Measurements& measurements, Requests& requests) override {
    const auto value = find_measurement(measurements, params_.metric);
    if (!value) return;
    if (improves(*value)) {
      best_ = value;
      waited_ = 0;
    } else if (++waited_ >= params_.patience) {
      std::ostringstream reason;
      reason << params_.metric << " has not improved for " << waited_ << " evaluations";
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
    return better_ == Better::max ? value > *best_ + params_.min_delta : value < *best_ - params_.min_delta;
  }

  EarlyStop params_;
  Better better_;
  std::optional<double> best_;
  std::int64_t waited_ = 0;  // evaluations since the best
};

Watched watched(const EarlyStop& params) { return {params.metric, params.mode}; }

HookFacts facts(const EarlyStop& params) { return {.watches = watched(params), .saves_models = false}; }

std::unique_ptr<Hook> build(const EarlyStop& params, const HookInputs& in) {
  return std::make_unique<EarlyStopHook>(params,
                                         direction_of(watched(params), in.measured, "hook \"early_stop\""));
}

const Registration<HookKind> registration{"early_stop", "Stops the run when a metric no longer improves.",
                                          &build};

}  // namespace
}  // namespace runner
