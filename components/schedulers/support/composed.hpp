#pragma once

#include <memory>
#include <vector>

#include "components/schedulers/scheduler.hpp"

namespace runner {

// What schedules made of other schedules share: measurements and state go to every one of them, also to those
// whose turn has not come.
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

// What any of them decides by.
SchedulerFacts facts_of_all(const std::vector<Part<SchedulerKind>>& parts);

// A part of another schedule, with a warm-up of its own where it asks for one. The inputs say where in the
// run it begins. Throws where the part counts in other units than the whole.
std::unique_ptr<Scheduler> build_inside(const Part<SchedulerKind>& part, SchedulerInputs inputs);

}  // namespace runner
