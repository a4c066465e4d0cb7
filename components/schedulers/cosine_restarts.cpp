#include <cmath>
#include <numbers>

#include "components/schedulers/scheduler.hpp"

namespace runner {
namespace {

struct CosineRestarts {
  Duration period = epochs(10);
  double growth = 1.0;
  double end = 0.0;
};

constexpr auto describe(std::type_identity<CosineRestarts>) {
  return fields(
      field("period", &CosineRestarts::period, "Length of the first period.", in_units({"ep", "step", "run"}),
            above(0)),
      field("growth", &CosineRestarts::growth, "Factor by which each period is longer than the one before.",
            at_least(1)),
      field("end", &CosineRestarts::end, "Where each period ends, as a share of the peak.", within(0, 1)));
}

// Loshchilov and Hutter 2017.
class CosineRestartsSchedule final : public Scheduler {
 public:
  CosineRestartsSchedule(const CosineRestarts& settings, double period)
      : period_(period), growth_(settings.growth), end_(settings.end) {}

  double factor(double at) const override {
    double period = period_;
    if (growth_ == 1) {
      at = std::fmod(at, period);
    } else {
      while (at >= period) {
        at -= period;
        period *= growth_;
      }
    }
    return end_ + (1 - end_) * (1 + std::cos(std::numbers::pi * at / period)) / 2;
  }

 private:
  double period_, growth_, end_;
};

std::unique_ptr<Scheduler> build(const CosineRestarts& settings, const SchedulerInputs& inputs) {
  return std::make_unique<CosineRestartsSchedule>(settings, inputs.stretch(settings.period));
}

const Registration<SchedulerKind> registration{"cosine_restarts", "Cosine annealing with warm restarts.",
                                               &build};

}  // namespace
}  // namespace runner
