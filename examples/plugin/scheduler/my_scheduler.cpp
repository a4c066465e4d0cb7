// A schedule of your own: the learning rate rises to its peak in the middle of the run, and falls again.
#include <algorithm>
#include <cmath>

#include "components/schedulers/scheduler.hpp"

namespace {

using namespace runner;

struct MyScheduler {
  double low = 0.0;
};

constexpr auto describe(std::type_identity<MyScheduler>) {
  return fields(
      field("low", &MyScheduler::low, "Where it starts and ends, as a share of the peak.", within(0, 1)));
}

// A function of progress alone: asking twice gives the same, so there is nothing to save.
class MySchedulerTent final : public Scheduler {
 public:
  MySchedulerTent(const MyScheduler& settings, double length) : settings_(settings), length_(length) {}

  double factor(double at) const override {
    const double height = 1 - std::abs(2 * std::clamp(at / length_, 0.0, 1.0) - 1);
    return settings_.low + (1 - settings_.low) * height;
  }

 private:
  MyScheduler settings_;
  double length_;
};

std::unique_ptr<Scheduler> build(const MyScheduler& settings, const SchedulerInputs& inputs) {
  return std::make_unique<MySchedulerTent>(settings, inputs.stretch(std::nullopt));
}

const Registration<SchedulerKind> registration{"my_scheduler", "Rises and falls like a tent.", &build};

}  // namespace
