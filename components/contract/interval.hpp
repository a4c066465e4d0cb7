#pragma once

#include "components/contract/progress.hpp"
#include "registry/base/duration.hpp"

namespace runner {

// Whether the run has reached this point: "5ep", "500step", "30min", "0.75run".
bool reached(const Duration& moment, const Progress& progress);

// Something that is due at regular intervals: "1ep", "500step", "30min", "0.1run".
class Interval {
 public:
  explicit Interval(const Duration& every) : every_(every) {}

  // Whether a multiple of the interval was reached after `before` and no later than `now`.
  bool passed(const Progress& before, const Progress& now) const;

 private:
  Duration every_;
};

}  // namespace runner
