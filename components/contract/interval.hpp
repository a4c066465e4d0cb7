#pragma once

#include "components/contract/progress.hpp"
#include "registry/duration.hpp"

namespace runner {

// Whether that much of the run is done: "5ep", "500step", "30min", "0.75run".
bool reached(const Duration& moment, const Progress& progress);

// Something that is due again and again: "1ep", "500step", "30min", "0.1run".
class Interval {
 public:
  explicit Interval(const Duration& every) : every_(every) {}

  // Whether a multiple of the interval lies between the two moments; the later one included.
  bool passed(const Progress& before, const Progress& now) const;

 private:
  Duration every_;
};

}  // namespace runner
