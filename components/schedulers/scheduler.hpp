#pragma once

#include "components/contract/measured.hpp"
#include "components/contract/progress.hpp"
#include "components/contract/state.hpp"
#include "registry/component.hpp"

namespace runner {

// A pure function of the progress; it is not stepped. Only a schedule that watches metrics keeps state.
//   struct Tent { double low = 0; };
//   constexpr auto describe(std::type_identity<Tent>) {
//     return fields(field("low", &Tent::low, "Start and end, as a share of the peak.", within(0, 1)));
//   }
//   class TentSchedule final : public Scheduler { double factor(double at) const override; .. };
//   std::unique_ptr<Scheduler> build(const Tent& settings, const SchedulerInputs& inputs) {
//     return std::make_unique<TentSchedule>(settings.low, inputs.stretch({}));
//   }
//   const Registration<SchedulerKind> registration{"tent", "Rises, then falls.", &build};
class Scheduler : public Stateful {
 public:
  // The factor for the peak learning rate. `at` counts updates or epochs, as the recipe says, from the end of
  // the warm-up, and never decreases.
  virtual double factor(double at) const = 0;

  // Called with the result of every evaluation: {"eval/loss", 0.3} ..
  virtual void observe(const Measurements& /*measurements*/) {}
};

enum class ScheduleUnit { step, epoch };
constexpr auto describe(std::type_identity<ScheduleUnit>) {
  return choices(choice("step", ScheduleUnit::step, "moves at every update"),
                 choice("epoch", ScheduleUnit::epoch, "moves once an epoch"));
}

// Converts the durations among a schedule's parameters into the unit of factor(). Both functions throw if a
// duration is a share of the run, or not given, and the length of the run is unknown because only time limits
// it.
struct SchedulerInputs {
  double run = 0;                       // updates or epochs in the whole run; 0: unknown
  double units_per_epoch = 1;           // 1 if epochs are counted
  double units_per_step = 1;            // 1 if updates are counted
  double warmup = 0;                    // length of the rise before the schedule
  double begin = 0;                     // position in the run of factor(0)
  double end = 0;                       // position at which the next schedule begins; 0: none
  std::vector<Measured> measured = {};  // what observe() will get: "eval/loss" ..; empty: not yet known

  double stretch(const std::optional<Duration>& length) const;  // a length; not given: up to the end
  double moment(const Duration& since_start) const;             // a point of the run, relative to `begin`
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
  std::vector<Watched> watches = {};  // the metrics it decides by
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
