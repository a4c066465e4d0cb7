#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "components/contract/batch.hpp"

namespace runner {

// The micro-batches of one update, and the seed of its random numbers: the same window always gives the same
// gradients. Without a seed the random generators continue.
struct Window {
  std::vector<Batch> batches = {};  // this rank's share of each
  std::optional<std::uint64_t> seed = {};
  std::vector<std::int64_t> sizes_of_batches = {};  // over all ranks; empty: this rank has all of each
  // Numbers that ranks sum together with the loss, so that they cost no exchange of their own.
  // All ranks give the same number of them, or none has this function.
  std::function<std::vector<double>()> numbers_to_sum = {};
};

// The loss of one update: a sum, still on the device, and its weight. mean() waits for the device.
struct WindowLoss {
  torch::Tensor sum;
  double weight = 1;
  std::vector<double> summed_numbers = {};  // numbers_to_sum, summed over all ranks

  double mean() const { return sum.item<double>() / weight; }
};

}  // namespace runner
