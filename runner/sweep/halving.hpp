#pragma once

#include <cstdint>
#include <map>

namespace runner {

// Successive halving without waiting (Li et al. 2020, "ASHA"): after 1, 3, 9, 27 .. evaluations a trial
// continues only if it is among the best third of all trials that got that far.
class Halving {
 public:
  // Whether the trial may continue, given its best value so far (lower is better) after `evaluations`
  // evaluations. Call it after every evaluation. A resumed trial may repeat one: it was judged the first
  // time, and is not stopped because of those that came later.
  bool may_continue(std::int64_t trial, std::int64_t evaluations, double best);

 private:
  std::map<std::int64_t, std::map<std::int64_t, double>> values_;  // by number of evaluations and trial
};

}  // namespace runner
