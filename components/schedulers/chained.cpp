#include "components/schedulers/composed.hpp"

namespace runner {
namespace {

struct Chained {
  std::vector<Part<SchedulerKind>> part;
};

constexpr auto describe(std::type_identity<Chained>) {
  return fields(field("part", &Chained::part, "The schedules, all at once.", required(), non_empty()));
}

class ChainedSchedule final : public ComposedSchedule {
 public:
  explicit ChainedSchedule(std::vector<std::unique_ptr<Scheduler>> all) : ComposedSchedule(std::move(all)) {}

  double factor(double at) const override {
    double product = 1;
    for (const auto& part : parts()) product *= part->factor(at);
    return product;
  }
};

SchedulerFacts facts(const Chained& settings) { return facts_of_all(settings.part); }

std::unique_ptr<Scheduler> build(const Chained& settings, const SchedulerInputs& inputs) {
  std::vector<std::unique_ptr<Scheduler>> parts;
  for (const auto& part : settings.part) parts.push_back(build_inside(part, inputs));
  return std::make_unique<ChainedSchedule>(std::move(parts));
}

const Registration<SchedulerKind> registration{"chained", "The product of several schedules.", &build};

}  // namespace
}  // namespace runner
