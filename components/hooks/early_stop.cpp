#include <cmath>
#include <stdexcept>

#include "components/hooks/hook.hpp"
#include "registry/suggest.hpp"

namespace runner {
namespace {

enum class Mode { max, min };
constexpr auto describe(std::type_identity<Mode>) {
  return choices(choice("max", Mode::max, "higher is better"), choice("min", Mode::min, "lower is better"));
}

struct EarlyStop {
  std::string metric;
  Mode mode = Mode::max;
  std::int64_t patience = 5;
  double min_delta = 0;
};
constexpr auto describe(std::type_identity<EarlyStop>) {
  return fields(
      field("metric", &EarlyStop::metric, "Metric to go by, such as \"eval/accuracy\".", required(),
            non_empty()),
      field("mode", &EarlyStop::mode, "Which direction is better."),
      field("patience", &EarlyStop::patience, "Evaluations without improvement after which the run stops.",
            at_least(1)),
      field("min_delta", &EarlyStop::min_delta, "How much better counts as an improvement.", at_least(0)));
}

class EarlyStopHook : public Hook {
 public:
  explicit EarlyStopHook(EarlyStop params) : params_(std::move(params)) {}

  void after_eval(const Progress&, const Measurements& measurements, Requests& requests) override {
    const auto found =
        std::ranges::find(measurements, params_.metric, [](const auto& pair) { return pair.first; });
    if (found == measurements.end()) return;
    if (improves(found->second)) {
      best_ = found->second;
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
    return params_.mode == Mode::max ? value > *best_ + params_.min_delta
                                     : value < *best_ - params_.min_delta;
  }

  EarlyStop params_;
  std::optional<double> best_;
  std::int64_t waited_ = 0;  // evaluations since the best
};

std::string unknown_metric(const std::string& metric, const std::vector<std::string>& known) {
  std::string message = "Hook \"early_stop\" waits for \"" + metric + "\", which no evaluation measures";
  if (const auto near = nearest(metric, known)) message += "; did you mean \"" + *near + "\"?";
  message += known.empty() ? " Nothing is measured: add [[eval.metric]]." : " Measured are:";
  for (const std::string& name : known) message += " " + name;
  if (!metric.starts_with("eval/"))
    message += ". A hook that keeps weights of its own has to stand before it.";
  return message;
}

std::unique_ptr<Hook> build(const EarlyStop& params, const HookInputs& in) {
  if (std::ranges::find(in.metrics, params.metric) == in.metrics.end()) {
    throw std::runtime_error(unknown_metric(params.metric, in.metrics));
  }
  return std::make_unique<EarlyStopHook>(params);
}

const Registration<HookKind> registration{"early_stop", "Stops the run when a metric no longer improves.",
                                          &build};

}  // namespace
}  // namespace runner
