#include <cmath>
#include <numbers>
#include <stdexcept>

#include "components/schedulers/scheduler.hpp"
#include "registry/base/log.hpp"

namespace runner {
namespace {

enum class DecayShape { linear, cosine, sqrt };
constexpr auto describe(std::type_identity<DecayShape>) {
  return choices(choice("linear", DecayShape::linear, "a straight line"),
                 choice("cosine", DecayShape::cosine, "half a cosine wave"),
                 choice("sqrt", DecayShape::sqrt, "1 - sqrt(share of the decay): steep at first"));
}

struct WarmupStableDecay {
  Duration decay = share_of_run(0.2);
  std::optional<Duration> stable;
  DecayShape shape = DecayShape::linear;
  double end = 0.0;
};

constexpr auto describe(std::type_identity<WarmupStableDecay>) {
  return fields(
      field("decay", &WarmupStableDecay::decay, "Length of the decay.", in_units({"ep", "step", "run"}),
            above(0)),
      field("stable", &WarmupStableDecay::stable,
            "How long it stays at the peak; default: so that the decay ends with the run.",
            in_units({"ep", "step", "run"})),
      field("shape", &WarmupStableDecay::shape, "Shape of the decay."),
      field("end", &WarmupStableDecay::end, "Where it ends, as a share of the peak.", within(0, 1)));
}

class WarmupStableDecaySchedule final : public Scheduler {
 public:
  WarmupStableDecaySchedule(const WarmupStableDecay& settings, double stable, double decay)
      : stable_(stable), decay_(decay), shape_(settings.shape), end_(settings.end) {}

  double factor(double at) const override {
    if (at <= stable_) return 1;
    if (at >= stable_ + decay_) return end_;
    return end_ + (1 - end_) * left((at - stable_) / decay_);
  }

 private:
  double left(double share) const {
    switch (shape_) {
      case DecayShape::linear: return 1 - share;
      case DecayShape::cosine: return (1 + std::cos(std::numbers::pi * share)) / 2;
      case DecayShape::sqrt: return 1 - std::sqrt(share);
    }
    return 0;
  }

  double stable_, decay_;
  DecayShape shape_;
  double end_;
};

std::unique_ptr<Scheduler> build(const WarmupStableDecay& settings, const SchedulerInputs& inputs) {
  const double decay = inputs.stretch(settings.decay);
  const double stable =
      settings.stable ? inputs.stretch(settings.stable) : inputs.stretch(std::nullopt) - decay;
  if (stable < 0) {
    throw std::runtime_error(
        log::format("scheduler.decay = \"{}\" is longer than what the warm-up leaves of the run.",
                    to_string(settings.decay)));
  }
  return std::make_unique<WarmupStableDecaySchedule>(settings, stable, decay);
}

const Registration<SchedulerKind> registration{
    "warmup_stable_decay", "Constant at the peak for most of the run, then a decay at its end.", &build};

}  // namespace
}  // namespace runner
