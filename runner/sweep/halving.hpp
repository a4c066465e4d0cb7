#pragma once

#include <cstdint>
#include <map>

namespace runner {

// Successive halving without waiting (Li et al. 2020, "ASHA"): after 1, 3, 9, 27 .. evaluations a trial
// continues only if it is among the best third of all that came that far.
class Halving {
 public:
  // Whether the trial may continue, given its best value so far (lower is better) after `evaluations`
  // evaluations. Call it after every evaluation; a resumed trial may repeat one.
  bool may_continue(std::int64_t trial, std::int64_t evaluations, double best);

 private:
  std::map<std::int64_t, std::map<std::int64_t, double>> values_;  // by number of evaluations and trial
};

}  // namespace runner
