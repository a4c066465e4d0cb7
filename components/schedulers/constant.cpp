#include "components/schedulers/scheduler.hpp"

namespace runner {
namespace {

struct Constant {};

constexpr auto describe(std::type_identity<Constant>) { return fields(); }

class ConstantSchedule final : public Scheduler {
 public:
  double factor(double /*at*/) const override { return 1.0; }
};

std::unique_ptr<Scheduler> build(const Constant&, const SchedulerInputs&) {
  return std::make_unique<ConstantSchedule>();
}

const Registration<SchedulerKind> registration{"constant", "The peak learning rate throughout.", &build};

}  // namespace
}  // namespace runner
