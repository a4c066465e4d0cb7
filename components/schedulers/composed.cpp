#include "components/schedulers/composed.hpp"

#include "registry/base/wording.hpp"

#include <algorithm>
#include <stdexcept>

namespace runner {

void ComposedSchedule::observe(const Measurements& measurements) {
  for (const auto& part : parts_) part->observe(measurements);
}

State ComposedSchedule::save() const {
  State all;
  for (std::size_t i = 0; i < parts_.size(); ++i) all.parts[std::to_string(i)] = parts_[i]->save();
  return all;
}

void ComposedSchedule::load(const State& state) {
  StateReader saved(state);
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->load(saved.part(std::to_string(i)));
  saved.finish();
}

namespace {

class AfterWarmup final : public Scheduler {
 public:
  AfterWarmup(double warmup, double start, std::unique_ptr<Scheduler> then)
      : warmup_(warmup), start_(start), then_(std::move(then)) {}

  double factor(double at) const override {
    return at < warmup_ ? start_ + (1 - start_) * at / warmup_ : then_->factor(at - warmup_);
  }
  void observe(const Measurements& measurements) override { then_->observe(measurements); }
  State save() const override { return then_->save(); }
  void load(const State& state) override { then_->load(state); }

 private:
  double warmup_, start_;
  std::unique_ptr<Scheduler> then_;
};

}  // namespace

SchedulerFacts facts_of_all(const std::vector<Part<SchedulerKind>>& parts) {
  SchedulerFacts all;
  for (const auto& part : parts) std::ranges::move(part.facts().watches, std::back_inserter(all.watches));
  return all;
}

std::unique_ptr<Scheduler> build_inside(const Part<SchedulerKind>& part, SchedulerInputs inputs) {
  const bool counts_epochs = inputs.units_per_epoch == 1;
  if (part.common.by == ScheduleUnit::epoch && !counts_epochs) {
    throw std::runtime_error(
        "A schedule inside another one counts as the whole does: set scheduler.by = "
        "\"epoch\", not \"by\" of the part " +
        in_quotes(part.name()) + ".");
  }
  inputs.warmup = inputs.stretch(part.common.warmup);
  if (inputs.warmup == 0) return part.build(inputs);
  if (inputs.units_per_step != 1) {
    throw std::runtime_error("The part " + in_quotes(part.name()) +
                             " has a warm-up, which moves at every update, but scheduler.by is \"epoch\".");
  }
  inputs.begin += inputs.warmup;
  return std::make_unique<AfterWarmup>(inputs.warmup, part.common.warmup_start, part.build(inputs));
}

}  // namespace runner
