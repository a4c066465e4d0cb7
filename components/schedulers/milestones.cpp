#include "components/schedulers/milestones.hpp"

#include <algorithm>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"

namespace runner {

std::vector<double> moments_of(const std::vector<Duration>& milestones, const SchedulerInputs& inputs) {
  std::vector<double> moments;
  std::vector<std::string> unreached;
  for (const Duration& milestone : milestones) {
    moments.push_back(inputs.moment(milestone));
    if (inputs.run > 0 && inputs.begin + moments.back() >= inputs.run)
      unreached.push_back(in_quotes(to_string(milestone)));
  }
  if (!unreached.empty())
    log::warning("scheduler.milestones: the run ends before {}, so what begins there has no effect.",
                 joined(unreached, " and "));
  return moments;
}

}  // namespace runner
