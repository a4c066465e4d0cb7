#include <cmath>
#include <stdexcept>

#include "components/schedulers/scheduler.hpp"

namespace runner {
namespace {

struct InverseSqrt {
  std::optional<Duration> timescale;
};

constexpr auto describe(std::type_identity<InverseSqrt>) {
  return fields(field(
      "timescale", &InverseSqrt::timescale,
      "Time until the learning rate has fallen to 0.71 of the peak; to half of it after three times as long. "
      "Default: the length of the warm-up.",
      in_units({"ep", "step", "run"}), above(0)));
}

// Vaswani et al. 2017: if timescale is the warm-up, 1 / sqrt(step), scaled to 1 at the end of the warm-up.
class InverseSqrtSchedule final : public Scheduler {
 public:
  explicit InverseSqrtSchedule(double timescale) : timescale_(timescale) {}
  double factor(double at) const override { return std::sqrt(timescale_ / (timescale_ + at)); }

 private:
  double timescale_;
};

std::unique_ptr<Scheduler> build(const InverseSqrt& settings, const SchedulerInputs& inputs) {
  const double timescale = settings.timescale ? inputs.stretch(settings.timescale) : inputs.warmup;
  if (timescale <= 0) {
    throw std::runtime_error(
        "inverse_sqrt needs scheduler.warmup, or scheduler.timescale: how fast it falls.");
  }
  return std::make_unique<InverseSqrtSchedule>(timescale);
}

const Registration<SchedulerKind> registration{"inverse_sqrt",
                                               "Decays with the inverse square root of the step.", &build};

}  // namespace
}  // namespace runner
