// Run by ctest: asks for the factor at three moments of a run of ten updates.
#include <cmath>
#include <iostream>

#include "components/schedulers/scheduler.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  SchedulerInputs inputs;
  inputs.run = 10;
  const auto schedule = make_part<SchedulerKind>(registry, "my_scheduler", {{"low", 0.2}}).build(inputs);
  const double expected[][2] = {{0, 0.2}, {5, 1.0}, {10, 0.2}};
  for (const auto& [at, factor] : expected) {
    if (std::abs(schedule->factor(at) - factor) < 1e-12) continue;
    std::cerr << "at " << at << " the factor is " << schedule->factor(at) << ", not " << factor << "\n";
    return 1;
  }
}
