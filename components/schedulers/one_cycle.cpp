#include <cmath>
#include <numbers>
#include <stdexcept>

#include "components/schedulers/scheduler.hpp"

namespace runner {
namespace {

enum class Anneal { cos, linear };
constexpr auto describe(std::type_identity<Anneal>) {
  return choices(choice("cos", Anneal::cos, "half cosine waves"),
                 choice("linear", Anneal::linear, "straight lines"));
}

struct OneCycle {
  double rise = 0.3;
  Anneal anneal = Anneal::cos;
  double div_factor = 25.0;
  double final_div_factor = 1e4;
  bool three_phase = false;
  std::optional<Duration> length;
};

constexpr auto describe(std::type_identity<OneCycle>) {
  return fields(
      field("rise", &OneCycle::rise, "Share of the cycle in which the learning rate rises.", within(0, 1)),
      field("anneal", &OneCycle::anneal, "The shape of rise and fall."),
      field("div_factor", &OneCycle::div_factor, "It starts at the peak divided by this.", above(0)),
      field("final_div_factor", &OneCycle::final_div_factor, "It ends at the initial rate divided by this.",
            above(0)),
      field("three_phase", &OneCycle::three_phase,
            "Fall back to the initial rate as fast as it rose, then decay to the final one."),
      field("length", &OneCycle::length, "Length of the cycle; default: the whole run.",
            in_units({"ep", "step", "run"}), above(0)));
}

void check(const OneCycle& settings, Report& report) {
  if (settings.three_phase && settings.rise > 0.5) {
    report.error("rise", "is at most 0.5 with three_phase: the fall back takes as long as the rise");
  }
}

// Smith and Topin 2019. The phases end one update early, as in torch.optim, so that the last update of the
// cycle uses the end value.
class OneCycleSchedule final : public Scheduler {
 public:
  OneCycleSchedule(const OneCycle& settings, double length) : anneal_(settings.anneal) {
    const double start = 1 / settings.div_factor;
    const double end = start / settings.final_div_factor;
    const double top = settings.rise * length - 1;
    phases_.push_back({top, start, 1.0});
    if (settings.three_phase) phases_.push_back({2 * top, 1.0, start});
    phases_.push_back({length - 1, phases_.back().to, end});
  }

  double factor(double at) const override {
    double begin = 0;
    for (const Phase& phase : phases_) {
      if (at <= phase.until)
        return between(phase, phase.until > begin ? (at - begin) / (phase.until - begin) : 1);
      begin = phase.until;
    }
    return phases_.back().to;
  }

 private:
  struct Phase {
    double until, from, to;
  };

  double between(const Phase& phase, double share) const {
    if (anneal_ == Anneal::linear) return phase.from + (phase.to - phase.from) * share;
    return phase.to + (phase.from - phase.to) * (1 + std::cos(std::numbers::pi * share)) / 2;
  }

  Anneal anneal_;
  std::vector<Phase> phases_;
};

std::unique_ptr<Scheduler> build(const OneCycle& settings, const SchedulerInputs& inputs) {
  if (inputs.warmup > 0) {
    throw std::runtime_error(
        "scheduler.warmup cannot be combined with one_cycle, which starts with its own rise: see `rise`.");
  }
  return std::make_unique<OneCycleSchedule>(settings, inputs.stretch(settings.length));
}

const Registration<SchedulerKind> registration{
    "one_cycle", "The one-cycle policy: one rise to the peak and one long decay.", &build};

}  // namespace
}  // namespace runner
