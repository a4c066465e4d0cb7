#pragma once

#include <memory>
#include <vector>

#include "components/schedulers/scheduler.hpp"

namespace runner {

// Base of schedules that are made of other schedules. All parts receive measurements and keep state, also
// those that have not begun.
class ComposedSchedule : public Scheduler {
 public:
  void observe(const Measurements& measurements) override;
  State save() const override;
  void load(const State& state) override;

 protected:
  explicit ComposedSchedule(std::vector<std::unique_ptr<Scheduler>> parts) : parts_(std::move(parts)) {}
  const std::vector<std::unique_ptr<Scheduler>>& parts() const { return parts_; }

 private:
  std::vector<std::unique_ptr<Scheduler>> parts_;
};

// The metrics that any of the parts watches.
SchedulerFacts facts_of_all(const std::vector<Part<SchedulerKind>>& parts);

// Builds a part of another schedule, with its own warm-up if it has one. The inputs say where in the run it
// begins. Throws if the part counts in other units than the whole.
std::unique_ptr<Scheduler> build_inside(const Part<SchedulerKind>& part, SchedulerInputs inputs);

}  // namespace runner
