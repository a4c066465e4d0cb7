#pragma once

#include <vector>

namespace runner {

// The distribution of values. A bucket covers the values from the limit of the previous bucket (the first
// one: from `min`) up to its own limit.
struct Histogram {
  double min = 0, max = 0;
  double count = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> limits = {};  // upper ends, ascending
  std::vector<double> counts = {};  // one per limit
};

}  // namespace runner
