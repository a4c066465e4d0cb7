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
#include "runner/engine/strategies/gradient_buckets.hpp"
#include "runner/engine/world.hpp"
#include "runner/engine/zero3/parameter_values.hpp"

namespace runner {

class PowerSgd;
struct Sharding;
struct ShardingOptions;

// Keeps the weights of all ranks equal: the part of an update that exists only with several ranks.
class RankSync {
 public:
  RankSync(World& world, const DistributedOptions& options);
  ~RankSync();

  // The parameters and buffers to keep equal. prepare() also copies those of rank 0 to all ranks and checks
  // that they are equal.
  void take(const std::vector<NamedTensor>& parameters, const std::vector<NamedTensor>& buffers);
  void prepare(const std::vector<NamedTensor>& parameters, const std::vector<NamedTensor>& buffers);

  // With zero3, after prepare(): each rank keeps only its part of the parameters. `options`: only those that
  // are not in [distributed] are read.
  void shard(const Model& model, ShardingOptions options, ParameterValues values);
  Sharding* sharding() const { return sharding_.get(); }

  // Whether this rank's optimizer updates the parameter.
  bool updates(const std::string& name) const;
  bool knows(const std::string& name) const;
  bool sharded_update() const { return sharding_ || !owners_.empty(); }
  // Of each parameter: the rank that updates it; empty: all do.
  const std::vector<int>& owners() const { return owners_; }

  // The next backward is the last one of the window: gradients are sent while it runs.
  void begin_last_backward();
  // Numbers that are sent along with the gradients, if the strategy has room for them: see GradientBuckets.
  bool carries(std::int64_t numbers);
  void send_along(const torch::Tensor& numbers) { buckets_->send_along(numbers); }
  torch::Tensor take_sums_along() { return buckets_->take_sums_along(); }
  // Sums gradients over all ranks: those of the parameters that this rank updates, or all of them.
  void reduce_gradients();

  void drop_gradients();

  // After reduce_gradients, for strategies in which ranks have different gradients: the norm over all ranks
  // (with local_sgd the root mean square of the norms), and whether a gradient of any rank is not finite.
  torch::Tensor total_norm(const torch::Tensor& own) const;
  bool any_not_finite(const std::vector<torch::Tensor>& own) const;

  // Gets the weights that other ranks have updated.
  void share_weights();
  // Copies the buffers of rank 0 to all ranks, as PyTorch's DistributedDataParallel does.
  void share_buffers() const;

  // What compression has left out of earlier gradients, of which every rank has a part; null without it.
  Stateful* compression() const;

  std::int64_t most_gradient_bytes(bool summed_before);  // GradientBuckets::most_bytes

 private:
  bool sharded_gradients() const {
    return options_.strategy == RankStrategy::zero2 || options_.strategy == RankStrategy::zero3;
  }
  bool local_gradients() const { return options_.strategy == RankStrategy::local_sgd; }
  std::optional<torch::ScalarType> wire() const;
  void make_buckets();

  World& world_;
  const DistributedOptions options_;
  std::vector<NamedTensor> parameters_;
  std::unordered_map<std::string, std::size_t> places_;  // of each name in parameters_
  std::vector<int> owners_;
  std::vector<torch::Tensor> buffers_;
  std::unique_ptr<GradientBuckets> buckets_;  // of the parameters that were trained when it was created
  std::vector<bool> in_buckets_;              // whether each parameter was trained then
  std::unique_ptr<PowerSgd> power_sgd_;       // only with compression = "powersgd"
  std::vector<NamedTensor> compressed_;       // the parameters that PowerSGD compresses
  std::unique_ptr<Sharding> sharding_;
};

// The owner of each parameter, from their sizes in bytes: each rank owns consecutive parameters, and all
// ranks about equally many bytes. Parameters are not split, because some optimizers need them whole.
std::vector<int> share_out(const std::vector<std::int64_t>& bytes, int ranks);
std::vector<int> share_out(const std::vector<NamedTensor>& parameters, int ranks);

}  // namespace runner
