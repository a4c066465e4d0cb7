#include <cmath>
#include <numbers>

#include "components/schedulers/scheduler.hpp"

namespace runner {
namespace {

struct Cosine {
  double end = 0.0;
  std::optional<Duration> length;
};

constexpr auto describe(std::type_identity<Cosine>) {
  return fields(field("end", &Cosine::end, "Where it ends, as a share of the peak.", within(0, 1)),
                field("length", &Cosine::length,
                      "Length of the decay, from the end of the warm-up; default: the rest of the run.",
                      in_units({"ep", "step", "run"}), above(0)));
}

// Loshchilov and Hutter 2017: half a cosine wave, without restarts.
class CosineSchedule final : public Scheduler {
 public:
  CosineSchedule(double end, double length) : end_(end), length_(length) {}
  double factor(double at) const override {
    if (at >= length_) return end_;
    return end_ + (1 - end_) * (1 + std::cos(std::numbers::pi * at / length_)) / 2;
  }

 private:
  double end_, length_;
};

std::unique_ptr<Scheduler> build(const Cosine& settings, const SchedulerInputs& inputs) {
  return std::make_unique<CosineSchedule>(settings.end, inputs.stretch(settings.length));
}

const Registration<SchedulerKind> registration{"cosine", "Cosine annealing from the peak.", &build};

}  // namespace
}  // namespace runner
