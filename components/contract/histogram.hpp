#pragma once

#include <vector>

namespace runner {

// How many values lie where. A bucket reaches from the limit of the one before, the first from `min`, up to
// its own.
struct Histogram {
  double min = 0, max = 0;
  double count = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> limits = {};  // upper ends, ascending
  std::vector<double> counts = {};  // as many
};

}  // namespace runner
