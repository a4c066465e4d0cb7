#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "components/contract/weights.hpp"
#include "components/precisions/precision.hpp"
#include "runner/engine/runtime/saved_tensors.hpp"
#include "runner/engine/strategies/tree_sum.hpp"

// What the shards of a window leave, combined in the order of a fixed tree. Every rank calls finish().
namespace runner {

// The tensors of each shard, which may be undefined.
class TensorSums {
 public:
  TensorSums(const std::vector<torch::Tensor>& shapes, World& world) : shapes_(shapes), sums_(world) {}

  void add(const std::vector<torch::Tensor>& tensors);
  // The sum of each tensor, undefined if no shard had one, and the number of shards that had it.
  std::vector<std::pair<torch::Tensor, float>> total(std::string_view what);

 private:
  const std::vector<torch::Tensor>& shapes_;
  TreeSum sums_;
};

// The gradients of each shard are taken from the parameters; finish() puts the sum back.
class ShardedGradients {
 public:
  ShardedGradients(std::vector<torch::Tensor>& parameters, World& world)
      : parameters_(parameters), sums_(parameters, world) {}

  void end_shard();
  void finish();

 private:
  std::vector<torch::Tensor>& parameters_;
  TensorSums sums_;
};

// Every shard starts from the same buffers. After the window, each is the mean over the shards that have
// examples; a counter is the largest of all shards.
class ShardedBuffers {
 public:
  ShardedBuffers(const std::vector<NamedTensor>& named, World& world);
  ShardedBuffers(const ShardedBuffers&) = delete;
  ShardedBuffers& operator=(const ShardedBuffers&) = delete;

  void begin_shard() { before_.restore(); }
  void end_shard(bool empty);
  void finish();

 private:
  std::vector<torch::Tensor> averaged_, counters_, largest_;
  SavedTensors before_;
  TensorSums sums_;
  World& world_;
};

// What the precision has measured. Every shard starts from the same state, and all ranks continue with the
// one after the first shard that has examples: which that is does not depend on the number of ranks.
class ShardedPrecision {
 public:
  ShardedPrecision(Precision& precision, bool measures);

  void begin_shard();
  void end_shard(std::int64_t shard, bool empty);
  void finish(World& world, std::int64_t shards);

 private:
  Precision& precision_;
  const bool measures_;
  State before_, after_;
  std::optional<std::int64_t> first_;  // of this rank's shards
};

}  // namespace runner
