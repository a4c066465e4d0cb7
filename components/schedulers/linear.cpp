#include "components/schedulers/scheduler.hpp"

namespace runner {
namespace {

struct Linear {
  double end = 0.0;
  std::optional<Duration> length;
};

constexpr auto describe(std::type_identity<Linear>) {
  return fields(field("end", &Linear::end, "Where it ends, as a share of the peak.", within(0, 1)),
                field("length", &Linear::length,
                      "Length of the decay, from the end of the warm-up; default: the rest of the run.",
                      in_units({"ep", "step", "run"}), above(0)));
}

class LinearSchedule final : public Scheduler {
 public:
  LinearSchedule(double end, double length) : end_(end), length_(length) {}
  double factor(double at) const override { return at >= length_ ? end_ : 1 + (end_ - 1) * at / length_; }

 private:
  double end_, length_;
};

std::unique_ptr<Scheduler> build(const Linear& settings, const SchedulerInputs& inputs) {
  return std::make_unique<LinearSchedule>(settings.end, inputs.stretch(settings.length));
}

const Registration<SchedulerKind> registration{"linear", "Linear decay from the peak.", &build};

}  // namespace
}  // namespace runner
