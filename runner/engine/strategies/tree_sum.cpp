#include "runner/engine/strategies/tree_sum.hpp"

#include <bit>

#include "registry/base/log.hpp"

namespace runner {

void TreeSum::require(std::int64_t shards, int ranks) {
  const auto power_of_two = [](std::int64_t number) {
    return number > 0 && std::has_single_bit(static_cast<std::uint64_t>(number));
  };
  if (power_of_two(shards) && power_of_two(ranks) && ranks <= shards) return;
  throw std::runtime_error(log::format(
      "distributed.reproducible divides {} shards (distributed.shards) among {} ranks: both must be powers "
      "of two, and there must not be more ranks than shards.",
      shards, ranks));
}

void TreeSum::add(torch::Tensor shard) {
  int depth = 0;
  for (; !subtrees_.empty() && subtrees_.back().first == depth; ++depth) {
    shard = subtrees_.back().second.add_(shard);
    subtrees_.pop_back();
  }
  subtrees_.emplace_back(depth, std::move(shard));
}

torch::Tensor TreeSum::total(std::string_view what) {
  if (subtrees_.size() != 1) throw std::logic_error("a rank needs a power of two of shards");
  torch::Tensor sum = std::move(subtrees_.back().second);
  subtrees_.clear();
  // a + b and b + a have the same bits, so both ranks of a pair get the same sum.
  const torch::Tensor other = world_.alone() ? torch::Tensor() : torch::empty_like(sum);
  for (int distance = 1; distance < world_.size(); distance *= 2) {
    world_.exchange(sum, other, world_.rank() ^ distance, what);
    sum.add_(other);
  }
  return sum;
}

}  // namespace runner
