#include <algorithm>
#include <stdexcept>

#include "components/schedulers/composed.hpp"
#include "components/schedulers/milestones.hpp"
#include "registry/base/log.hpp"

namespace runner {
namespace {

struct Sequential {
  std::vector<Part<SchedulerKind>> part;
  std::vector<Duration> milestones;
};

constexpr auto describe(std::type_identity<Sequential>) {
  return fields(
      field("part", &Sequential::part,
            "The schedules, in order; one without a length ends where the next begins.", required(),
            non_empty()),
      field("milestones", &Sequential::milestones,
            "When each next schedule begins, from the start of the run; one fewer than there are schedules.",
            in_units({"ep", "step", "run"}), above(0)));
}

void check(const Sequential& settings, Report& report) {
  if (settings.milestones.size() + 1 != settings.part.size()) {
    report.error("milestones",
                 log::format("needs {} for {} schedules: one wherever the next begins, but has {}",
                             settings.part.size() - 1, settings.part.size(), settings.milestones.size()));
  }
}

class SequentialSchedule final : public ComposedSchedule {
 public:
  SequentialSchedule(std::vector<std::unique_ptr<Scheduler>> all, std::vector<double> begins)
      : ComposedSchedule(std::move(all)), begins_(std::move(begins)) {}

  double factor(double at) const override {
    const auto next = std::upper_bound(begins_.begin() + 1, begins_.end(), at);
    const auto now = static_cast<std::size_t>(next - begins_.begin() - 1);
    return parts()[now]->factor(at - begins_[now]);
  }

 private:
  std::vector<double> begins_;  // of each schedule, from the end of the warm-up
};

SchedulerFacts facts(const Sequential& settings) { return facts_of_all(settings.part); }

std::unique_ptr<Scheduler> build(const Sequential& settings, const SchedulerInputs& inputs) {
  std::vector<double> begins = moments_of(settings.milestones, inputs);
  begins.insert(begins.begin(), 0.0);
  for (std::size_t i = 1; i < begins.size(); ++i) {
    if (begins[i] > begins[i - 1]) continue;
    throw std::runtime_error(log::format(
        "scheduler.milestones must rise, from the end of the warm-up on, but \"{}\" is not after {}.",
        to_string(settings.milestones[i - 1]), i == 1 ? "the warm-up" : "the one before"));
  }
  std::vector<std::unique_ptr<Scheduler>> parts;
  for (std::size_t i = 0; i < settings.part.size(); ++i) {
    SchedulerInputs own = inputs;
    own.begin = inputs.begin + begins[i];
    if (i + 1 < begins.size()) own.end = inputs.begin + begins[i + 1];
    parts.push_back(build_inside(settings.part[i], own));
  }
  return std::make_unique<SequentialSchedule>(std::move(parts), std::move(begins));
}

const Registration<SchedulerKind> registration{"sequential", "One schedule after the other.", &build};

}  // namespace
}  // namespace runner
