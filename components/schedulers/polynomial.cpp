#include <cmath>

#include "components/schedulers/scheduler.hpp"

namespace runner {
namespace {

struct Polynomial {
  double power = 1.0;
  double end = 0.0;
  std::optional<Duration> length;
};

constexpr auto describe(std::type_identity<Polynomial>) {
  return fields(field("power", &Polynomial::power,
                      "The exponent. 1: a straight line; larger values fall faster at first.", above(0)),
                field("end", &Polynomial::end, "Where it ends, as a share of the peak.", within(0, 1)),
                field("length", &Polynomial::length,
                      "Length of the decay, from the end of the warm-up; default: the rest of the run.",
                      in_units({"ep", "step", "run"}), above(0)));
}

class PolynomialSchedule final : public Scheduler {
 public:
  PolynomialSchedule(const Polynomial& settings, double length)
      : power_(settings.power), end_(settings.end), length_(length) {}
  double factor(double at) const override {
    return at >= length_ ? end_ : end_ + (1 - end_) * std::pow(1 - at / length_, power_);
  }

 private:
  double power_, end_, length_;
};

std::unique_ptr<Scheduler> build(const Polynomial& settings, const SchedulerInputs& inputs) {
  return std::make_unique<PolynomialSchedule>(settings, inputs.stretch(settings.length));
}

const Registration<SchedulerKind> registration{"polynomial", "Polynomial decay to the end of the run.",
                                               &build};

}  // namespace
}  // namespace runner
