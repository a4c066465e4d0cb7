#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "components/contract/batch.hpp"

namespace runner {

// The micro-batches of one update, and the seed of whatever is random in it: the same window gives the same
// gradients, however often it is tried. Without a seed the generators go on as they are.
struct Window {
  std::vector<Batch> batches = {};  // this rank's share of each
  std::optional<std::uint64_t> seed = {};
  std::vector<std::int64_t> sizes_of_batches = {};  // over all ranks; empty: this rank has all of each
};

// The loss of one update: a sum, still on the device, and what to divide it by. Asking for the mean waits for
// the device.
struct WindowLoss {
  torch::Tensor sum;
  double weight = 1;

  double mean() const { return sum.item<double>() / weight; }
};

}  // namespace runner
