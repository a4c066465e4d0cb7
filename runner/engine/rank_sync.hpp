#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "components/contract/weights.hpp"
#include "runner/engine/distributed_options.hpp"
#include "runner/engine/gradient_buckets.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// What keeps the weights of all ranks the same: the part of an update that only several ranks have.
class RankSync {
 public:
  RankSync(World& world, const DistributedSection& options) : world_(world), options_(options) {}

  // All ranks begin with the weights of rank 0, and have checked that they do.
  void prepare(const std::vector<NamedTensor>& parameters, const std::vector<NamedTensor>& buffers);

  // Whether this rank's optimizer updates the parameter.
  bool updates(const std::string& name) const;
  bool knows(const std::string& name) const;
  bool sharded_update() const {
    return options_.strategy == RankStrategy::zero1 || options_.strategy == RankStrategy::zero2;
  }

  // Some parameters have been frozen or released since.
  void trained_have_changed();

  // The coming backward is the last one of the window: gradients may set out while it runs.
  void begin_last_backward();
  // Gradients become sums over all ranks: of the parameters that this rank updates, or of all.
  void reduce_gradients();

  // After reduce_gradients, of what only some ranks have: the norm over all ranks; and one rank's gradient
  // that is not finite is made known to all, by a gradient of theirs that is not finite either.
  torch::Tensor total_norm(const torch::Tensor& own) const;
  void spread_non_finite() const;

  // The weights that other ranks have updated.
  void share_weights();
  // Running statistics are those of rank 0, as in PyTorch's DistributedDataParallel.
  void share_buffers() const;

  std::int64_t bytes_sent() const { return bytes_of_old_buckets_ + (buckets_ ? buckets_->bytes_sent() : 0); }

 private:
  bool sharded_gradients() const { return options_.strategy == RankStrategy::zero2; }
  void make_buckets();

  World& world_;
  const DistributedSection options_;
  std::vector<NamedTensor> parameters_;
  std::vector<int> owners_;  // of each parameter: the rank that updates it; empty: all do
  std::vector<torch::Tensor> buffers_;
  std::unique_ptr<GradientBuckets> buckets_;  // of the parameters that are trained now
  std::int64_t bytes_of_old_buckets_ = 0;
};

// Neighbours share an owner, and each rank's tensors are about as many bytes: whole tensors, because some
// optimizers need them whole.
std::vector<int> share_out(const std::vector<NamedTensor>& parameters, int ranks);

}  // namespace runner
