#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "components/contract/state.hpp"
#include "components/contract/weights.hpp"
#include "components/models/model.hpp"
#include "runner/engine/distributed_options.hpp"
#include "runner/engine/gradient_buckets.hpp"
#include "runner/engine/world.hpp"

namespace runner {

class PowerSgd;
struct Sharding;

// What keeps the weights of all ranks the same: the part of an update that only several ranks have.
class RankSync {
 public:
  RankSync(World& world, const DistributedSection& options);
  ~RankSync();

  // What is trained together. All ranks begin with the weights of rank 0, and have checked that they do.
  void take(const std::vector<NamedTensor>& parameters, const std::vector<NamedTensor>& buffers);
  void prepare(const std::vector<NamedTensor>& parameters, const std::vector<NamedTensor>& buffers);

  // With zero3, after that: each rank keeps its part of the parameters. `slices`: a slice of every parameter;
  // otherwise whole parameters of its own.
  void shard(const Model& model, bool slices);
  Sharding* sharding() const { return sharding_.get(); }

  // Whether this rank's optimizer updates the parameter.
  bool updates(const std::string& name) const;
  bool knows(const std::string& name) const;
  bool sharded_update() const { return sharding_ || !owners_.empty(); }

  // The coming backward is the last one of the window: gradients may set out while it runs.
  void begin_last_backward();
  // Gradients become sums over all ranks: of the parameters that this rank updates, or of all.
  void reduce_gradients();

  void drop_gradients();

  // After reduce_gradients, of gradients that only this rank may have: their norm over all ranks (of
  // gradients that differ, the root of their mean square); whether one is not finite and others might not
  // know.
  torch::Tensor total_norm(const torch::Tensor& own) const;
  bool any_not_finite(const std::vector<torch::Tensor>& own) const;

  // The weights that other ranks have updated.
  void share_weights();
  // Running statistics are those of rank 0, as in PyTorch's DistributedDataParallel.
  void share_buffers() const;

  // What compression has left out so far, made ready to be saved (every rank takes part), and its state.
  // Saved without compression it is empty, and what another setting left there is not needed.
  void prepare_to_save();
  State save() const;
  void load(const State& state);

  std::int64_t bytes_sent() const;
  std::int64_t most_gradient_bytes(bool summed_before);  // as GradientBuckets has it

 private:
  bool sharded_gradients() const {
    return options_.strategy == RankStrategy::zero2 || options_.strategy == RankStrategy::zero3;
  }
  bool local_gradients() const { return options_.strategy == RankStrategy::local_sgd; }
  std::optional<torch::ScalarType> wire() const;
  void make_buckets();

  World& world_;
  const DistributedSection options_;
  std::vector<NamedTensor> parameters_;
  std::unordered_map<std::string, std::size_t> places_;  // of each name in parameters_
  std::vector<int> owners_;  // of each parameter: the rank that updates it; empty: all do
  std::vector<torch::Tensor> buffers_;
  std::unique_ptr<GradientBuckets> buckets_;  // of the parameters that were trained when it was made
  std::vector<bool> in_buckets_;              // which of the parameters these are
  std::unique_ptr<PowerSgd> power_sgd_;       // none without that compression
  std::vector<NamedTensor> compressed_;       // those of them that it takes
  std::int64_t bytes_of_old_buckets_ = 0;
  std::unique_ptr<Sharding> sharding_;
};

// The owner of each of a list of things, given their bytes: neighbours share an owner, and each rank gets
// about as many bytes. Parameters are whole tensors, because some optimizers need them whole.
std::vector<int> share_out(const std::vector<std::int64_t>& bytes, int ranks);
std::vector<int> share_out(const std::vector<NamedTensor>& parameters, int ranks);

}  // namespace runner
