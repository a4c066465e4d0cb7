#include <cmath>

#include "components/schedulers/scheduler.hpp"

namespace runner {
namespace {

struct Step {
  Duration every = epochs(30);
  double gamma = 0.1;
};

constexpr auto describe(std::type_identity<Step>) {
  return fields(field("every", &Step::every, "Time between two drops, from the end of the warm-up.",
                      in_units({"ep", "step", "run"}), above(0)),
                field("gamma", &Step::gamma, "Factor of each drop.", above(0)));
}

class StepSchedule final : public Scheduler {
 public:
  StepSchedule(double every, double gamma) : every_(every), gamma_(gamma) {}
  double factor(double at) const override { return std::pow(gamma_, std::floor(at / every_)); }

 private:
  double every_, gamma_;
};

std::unique_ptr<Scheduler> build(const Step& settings, const SchedulerInputs& inputs) {
  return std::make_unique<StepSchedule>(inputs.stretch(settings.every), settings.gamma);
}

const Registration<SchedulerKind> registration{
    "step", "Multiplies the learning rate by a factor at regular intervals.", &build};

}  // namespace
}  // namespace runner
