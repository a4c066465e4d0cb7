#include <algorithm>
#include <cmath>

#include "components/schedulers/milestones.hpp"
#include "components/schedulers/scheduler.hpp"

namespace runner {
namespace {

struct MultiStep {
  std::vector<Duration> milestones;
  double gamma = 0.1;
};

constexpr auto describe(std::type_identity<MultiStep>) {
  return fields(field("milestones", &MultiStep::milestones,
                      "When it drops, from the start of the run, warm-up included: [\"80ep\", \"120ep\"].",
                      in_units({"ep", "step", "run"}), required(), non_empty()),
                field("gamma", &MultiStep::gamma, "Factor of each drop.", above(0)));
}

class MultiStepSchedule final : public Scheduler {
 public:
  MultiStepSchedule(std::vector<double> milestones, double gamma)
      : milestones_(std::move(milestones)), gamma_(gamma) {}
  double factor(double at) const override {
    const auto passed = std::ranges::count_if(milestones_, [&](double milestone) { return at >= milestone; });
    return std::pow(gamma_, static_cast<double>(passed));
  }

 private:
  std::vector<double> milestones_;
  double gamma_;
};

std::unique_ptr<Scheduler> build(const MultiStep& settings, const SchedulerInputs& inputs) {
  return std::make_unique<MultiStepSchedule>(moments_of(settings.milestones, inputs), settings.gamma);
}

const Registration<SchedulerKind> registration{
    "multi_step", "Multiplies the learning rate by a factor at each milestone.", &build};

}  // namespace
}  // namespace runner
