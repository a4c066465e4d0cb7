#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace runner {

// Successive halving without waiting (Li et al. 2020, "ASHA"): after 1, 3, 9, 27 .. evaluations a trial goes
// on only if it is among the best third of all that came that far.
class Halving {
 public:
  // Whether the trial may go on, given its best value so far (lower is better) after so many evaluations. To
  // be asked after every evaluation.
  bool goes_on(std::int64_t evaluations, double best);

 private:
  std::map<std::int64_t, std::vector<double>> values_;  // by number of evaluations
};

}  // namespace runner
