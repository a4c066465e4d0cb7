#pragma once

#include "components/contract/measured.hpp"
#include "components/contract/state.hpp"
#include "registry/component.hpp"

namespace runner {

// A function of progress: asking twice gives the same, and nothing needs to be stepped. Only a schedule that
// follows measurements has something to remember.
class Scheduler : public Stateful {
 public:
  // The multiple of the peak learning rate. `at` counts updates or epochs, as the recipe chose, from the end
  // of the warm-up, and never goes back.
  virtual double factor(double at) const = 0;

  // The outcome of every evaluation, by name: {"eval/loss", 0.3} ..
  virtual void observe(const std::vector<std::pair<std::string, double>>& /*measurements*/) {}
};

enum class ScheduleUnit { step, epoch };
constexpr auto describe(std::type_identity<ScheduleUnit>) {
  return choices(choice("step", ScheduleUnit::step, "moves at every update"),
                 choice("epoch", ScheduleUnit::epoch, "moves once an epoch"));
}

// Turns the durations among a schedule's parameters into what factor() counts in. Both throw where a duration
// is a share of the run, or left out, and the length of the run is unknown because time alone limits it.
struct SchedulerInputs {
  double run = 0;                       // updates or epochs in the whole run; 0: unknown
  double units_per_epoch = 1;           // 1 where epochs are counted
  double units_per_step = 1;            // 1 where updates are counted
  double warmup = 0;                    // how long the rise before the schedule is
  double begin = 0;                     // where in the run the schedule begins: factor(0)
  double end = 0;                       // and where another one follows; 0: none does
  std::vector<Measured> measured = {};  // what observe() will be told: "eval/loss" ..; none: not known yet

  double stretch(const std::optional<Duration>& length) const;  // how long; not given: up to the end
  double moment(const Duration& since_start) const;             // a point of the run, from `begin`
};

struct SchedulerCommon {
  Duration warmup = steps(0);
  double warmup_start = 0.0;
  ScheduleUnit by = ScheduleUnit::step;
};
constexpr auto describe(std::type_identity<SchedulerCommon>) {
  return fields(field("warmup", &SchedulerCommon::warmup,
                      "A linear rise to the peak, at every update, before the schedule begins.",
                      in_units({"ep", "step", "run"})),
                field("warmup_start", &SchedulerCommon::warmup_start,
                      "Where the rise begins, as a share of the peak.", within(0, 1)),
                field("by", &SchedulerCommon::by, "How often the schedule moves."));
}

struct SchedulerFacts {
  std::vector<Watched> watches = {};  // the measurements it decides by
};

struct SchedulerKind {
  static constexpr std::string_view name = "scheduler";
  static constexpr std::string_view summary = "The learning rate over the run.";
  static constexpr KindOnResume on_resume{.part = OnResume::course, .parameters = OnResume::course};
  using Product = Scheduler;
  using Inputs = SchedulerInputs;
  using Common = SchedulerCommon;
  using Facts = SchedulerFacts;
};

}  // namespace runner
