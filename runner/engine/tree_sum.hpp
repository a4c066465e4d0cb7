#pragma once

#include <torch/types.h>

#include <string_view>
#include <vector>

#include "runner/engine/world.hpp"

namespace runner {

// The sum of a fixed number of tensors ("shards") in the order of a fixed binary tree: the same bits on any
// number of ranks. Rank r of n has the r-th of n equal runs of shards and sums its part of the tree; then
// ranks go on with the same tree, pair by pair. The number of shards and of ranks must be powers of two.
class TreeSum {
 public:
  explicit TreeSum(World& world) : world_(world) {}

  // Throws std::runtime_error unless so many shards can be shared out among so many ranks.
  static void require(std::int64_t shards, int ranks);

  // The next shard of this rank; the tensor is taken over. All have the same shape.
  void add(torch::Tensor shard);
  // Every rank takes part, once all its shards are added.
  torch::Tensor total(std::string_view what);

 private:
  World& world_;
  std::vector<std::pair<int, torch::Tensor>> subtrees_;  // depth and sum; depths fall
};

}  // namespace runner
