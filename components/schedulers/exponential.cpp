#include <cmath>

#include "components/schedulers/scheduler.hpp"

namespace runner {
namespace {

struct Exponential {
  double gamma = 0.95;
  Duration every = epochs(1);
};

constexpr auto describe(std::type_identity<Exponential>) {
  return fields(field("gamma", &Exponential::gamma, "What the learning rate is multiplied by.", above(0)),
                field("every", &Exponential::every,
                      "The time after which it is multiplied by gamma; the decay is smooth.",
                      in_units({"ep", "step", "run"}), above(0)));
}

class ExponentialSchedule final : public Scheduler {
 public:
  ExponentialSchedule(double gamma, double every) : gamma_(gamma), every_(every) {}
  double factor(double at) const override { return std::pow(gamma_, at / every_); }

 private:
  double gamma_, every_;
};

std::unique_ptr<Scheduler> build(const Exponential& settings, const SchedulerInputs& inputs) {
  return std::make_unique<ExponentialSchedule>(settings.gamma, inputs.stretch(settings.every));
}

const Registration<SchedulerKind> registration{
    "exponential", "Multiplies the learning rate by the same factor every epoch, or every step.", &build};

}  // namespace
}  // namespace runner
