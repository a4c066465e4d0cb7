#pragma once

#include <torch/types.h>

#include <string_view>
#include <vector>

#include "runner/engine/world.hpp"

namespace runner {

// The sum of a fixed number of tensors ("shards") in the order of a fixed binary tree: the same bits on any
// number of ranks. Rank r of n has the r-th of n equal runs of shards and sums its subtree; then ranks sum
// the upper part of the tree in pairs. The numbers of shards and ranks must be powers of two.
class TreeSum {
 public:
  explicit TreeSum(World& world) : world_(world) {}

  // Throws std::runtime_error if this many shards cannot be divided among this many ranks.
  static void require(std::int64_t shards, int ranks);

  // The next shard of this rank; its memory is reused for the sum. All shards have the same shape.
  void add(torch::Tensor shard);
  // Every rank calls it after adding all its shards.
  torch::Tensor total(std::string_view what);

 private:
  World& world_;
  std::vector<std::pair<int, torch::Tensor>> subtrees_;  // depth and sum, in order of decreasing depth
};

}  // namespace runner
