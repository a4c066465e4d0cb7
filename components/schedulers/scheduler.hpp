#pragma once

#include "registry/component.hpp"

namespace runner {

// A pure function of progress: asking twice gives the same, and nothing needs to be stepped, saved or restored.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // The multiple of the peak learning rate after that many updates (warm-up not counted). Fractions where the schedule
  // moves by epochs are not given: `at` is whole updates, or whole epochs, as SchedulerInputs says.
  virtual double factor(double at) const = 0;
};

enum class ScheduleUnit { step, epoch };
constexpr auto describe(std::type_identity<ScheduleUnit>) {
  return choices(choice("step", ScheduleUnit::step, "moves at every update"),
                 choice("epoch", ScheduleUnit::epoch, "moves once an epoch"));
}

struct SchedulerInputs {
  double length = 0;            // of the schedule, warm-up excluded, in its unit
  double units_per_epoch = 1;   // updates an epoch, or 1 where the unit is the epoch: turns durations into units
  double units_before = 0;      // the warm-up, in units
};

struct SchedulerCommon {
  Duration warmup = steps(0);
  double warmup_start = 0.0;
  ScheduleUnit by = ScheduleUnit::step;
};
constexpr auto describe(std::type_identity<SchedulerCommon>) {
  return fields(field("warmup", &SchedulerCommon::warmup, "A linear rise to the peak before the schedule begins.",
                      in_units({"ep", "step", "run"})),
                field("warmup_start", &SchedulerCommon::warmup_start, "Where the rise begins, as a share of the peak.",
                      within(0, 1)),
                field("by", &SchedulerCommon::by, "What the schedule counts in."));
}

struct SchedulerKind {
  static constexpr std::string_view name = "scheduler";
  static constexpr std::string_view summary = "The learning rate over the run.";
  using Product = Scheduler;
  using Inputs = SchedulerInputs;
  using Common = SchedulerCommon;
};

}  // namespace runner
