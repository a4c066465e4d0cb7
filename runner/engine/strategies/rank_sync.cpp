#include "runner/engine/strategies/rank_sync.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "components/torch/finite.hpp"
#include "registry/base/log.hpp"
#include "runner/engine/strategies/power_sgd.hpp"
#include "runner/engine/strategies/together.hpp"
#include "runner/engine/zero3/sharding.hpp"

namespace runner {

namespace {

std::vector<torch::Tensor> tensors_of(const std::vector<NamedTensor>& named) {
  std::vector<torch::Tensor> tensors;
  for (const NamedTensor& one : named) tensors.push_back(one.tensor);
  return tensors;
}

}  // namespace

std::vector<int> share_out(const std::vector<std::int64_t>& bytes, int ranks) {
  double all = 0;
  for (const std::int64_t each : bytes) all += static_cast<double>(each);
  std::vector<int> owners;
  double before = 0;
  for (const std::int64_t each : bytes) {
    const double middle = all > 0 ? (before + static_cast<double>(each) / 2) / all : 0;
    owners.push_back(std::min(static_cast<int>(middle * ranks), ranks - 1));
    before += static_cast<double>(each);
  }
  return owners;
}

std::vector<int> share_out(const std::vector<NamedTensor>& parameters, int ranks) {
  std::vector<std::int64_t> bytes;
  for (const NamedTensor& parameter : parameters)
    bytes.push_back(static_cast<std::int64_t>(parameter.tensor.nbytes()));
  return share_out(bytes, ranks);
}

namespace {

// Nobody updates frozen parameters. They have an owner, too, in case they are released later.
std::vector<int> share_out_trained(const std::vector<NamedTensor>& parameters, int ranks) {
  std::vector<std::int64_t> bytes;
  for (const auto& [name, tensor] : parameters)
    bytes.push_back(tensor.requires_grad() ? static_cast<std::int64_t>(tensor.nbytes()) : 0);
  return share_out(bytes, ranks);
}

}  // namespace

RankSync::RankSync(World& world, const DistributedOptions& options) : world_(world), options_(options) {
  if (options_.compression == Compression::powersgd)
    power_sgd_ = std::make_unique<PowerSgd>(world_, options_.powersgd_rank);
}

RankSync::~RankSync() = default;

void RankSync::take(const std::vector<NamedTensor>& parameters, const std::vector<NamedTensor>& buffers) {
  parameters_ = parameters;
  places_.clear();
  for (std::size_t i = 0; i < parameters_.size(); ++i) places_[parameters_[i].name] = i;
  buffers_ = tensors_of(buffers);
  if (options_.strategy == RankStrategy::zero1 || options_.strategy == RankStrategy::zero2)
    owners_ = share_out_trained(parameters_, world_.size());
}

void RankSync::prepare(const std::vector<NamedTensor>& parameters, const std::vector<NamedTensor>& buffers) {
  take(parameters, buffers);
  std::vector<NamedTensor> all = buffers;
  // With zero3 the parameters are sent unit by unit when they are sharded.
  if (options_.strategy != RankStrategy::zero3) all.insert(all.end(), parameters_.begin(), parameters_.end());
  broadcast_together(world_, tensors_of(all), 0, "the weights");
  require_equal(world_, all, "the weights");
}

void RankSync::shard(const Model& model, ShardingOptions options, ParameterValues values) {
  options.unit_bytes = options_.unit_size.bytes;
  options.reshard_after_forward = options_.reshard_after_forward;
  options.prefetch = options_.prefetch;
  options.group = static_cast<int>(options_.shard_group);
  options.wire = wire();
  sharding_ = std::make_unique<Sharding>(world_, model, options, std::move(values));
}

std::optional<torch::ScalarType> RankSync::wire() const {
  if (options_.compression == Compression::fp16) return torch::kHalf;
  if (options_.compression == Compression::bf16) return torch::kBFloat16;
  return {};
}

bool RankSync::knows(const std::string& name) const { return places_.contains(name); }

bool RankSync::updates(const std::string& name) const {
  if (!sharded_update()) return true;
  const auto place = places_.find(name);
  if (place == places_.end()) return false;
  if (!sharding_) return owners_[place->second] == world_.rank();
  return sharding_->parameters.slice_of(parameters_[place->second].tensor).numel() > 0;
}

// Makes new buckets if parameters have been frozen or unfrozen since, by whatever means.
void RankSync::make_buckets() {
  std::vector<bool> trained_now;
  for (const NamedTensor& parameter : parameters_) trained_now.push_back(parameter.tensor.requires_grad());
  if (buckets_ && (buckets_->under_way() || trained_now == in_buckets_)) return;
  buckets_.reset();  // first: it removes its hooks from the parameters
  in_buckets_ = std::move(trained_now);
  BucketOptions options;
  options.bytes = static_cast<std::int64_t>(options_.bucket_size.bytes);
  options.first_bytes = std::min(options.first_bytes, options.bytes);
  options.wire = wire();
  std::vector<torch::Tensor> trained;
  compressed_.clear();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!in_buckets_[i]) continue;
    if (power_sgd_ && power_sgd_->compresses(parameters_[i].tensor)) {
      compressed_.push_back(parameters_[i]);
      continue;
    }
    trained.push_back(parameters_[i].tensor);
    if (sharded_gradients()) options.owners.push_back(owners_[i]);
  }
  buckets_ = std::make_unique<GradientBuckets>(world_, std::move(trained), options);
}

void RankSync::begin_last_backward() {
  if (sharding_) return;  // sends gradients in every backward
  // Comparing a call waits for the other ranks, of which one may still be in batch norm.
  if (options_.sync_batch_norm && options_.check_collectives) return;
  make_buckets();
  buckets_->begin_last_backward();
}

bool RankSync::carries(std::int64_t numbers) {
  if (sharding_ || local_gradients()) return false;
  make_buckets();
  return buckets_->carries(numbers);
}

void RankSync::reduce_gradients() {
  if (sharding_) return sharding_->parameters.give_gradients();
  make_buckets();
  buckets_->finish();
  if (power_sgd_) power_sgd_->reduce(compressed_);
}

Stateful* RankSync::compression() const { return power_sgd_.get(); }

std::int64_t RankSync::most_gradient_bytes(bool summed_before) {
  make_buckets();
  return buckets_->most_bytes(summed_before);
}

void RankSync::drop_gradients() {
  if (sharding_) sharding_->parameters.drop_gradients();
  if (buckets_ && buckets_->under_way()) buckets_.reset();  // a pass failed: they hold some of its gradients
}

torch::Tensor RankSync::total_norm(const torch::Tensor& own) const {
  if (!sharded_gradients() && !local_gradients()) return own;
  // A rank without gradients has its zero on the CPU. All must send from the same kind of device, or they
  // would wait for each other in different backends.
  const torch::Device device = parameters_.front().tensor.device();
  const torch::Tensor squared = own.detach().to(device, torch::kFloat64).square().reshape(1);
  World& ranks = sharding_ ? sharding_->parameters.group() : world_;
  ranks.all_reduce(squared, Reduction::sum, "the norm of the gradients");
  if (local_gradients()) squared.div_(world_.size());
  return squared.sqrt().to(own.device(), own.scalar_type()).squeeze();
}

bool RankSync::any_not_finite(const std::vector<torch::Tensor>& own) const {
  if (!sharded_gradients() && !local_gradients()) return false;
  return world_.any(!all_finite(own), "whether a gradient is not finite");
}

void RankSync::share_weights() {
  if (owners_.empty()) return;
  std::vector<torch::Tensor> together;
  std::uint64_t bytes = 0;
  int owner = 0;
  const auto send = [&] {
    if (!together.empty())
      broadcast_together(world_, std::exchange(together, {}), owner, "the updated weights");
    bytes = 0;
  };
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const torch::Tensor& parameter = parameters_[i].tensor;
    if (!parameter.requires_grad()) continue;  // frozen: nobody has updated it
    if (owners_[i] != owner || bytes >= options_.bucket_size.bytes) send();
    owner = owners_[i];
    together.push_back(parameter);
    bytes += parameter.nbytes();
  }
  send();
}

void RankSync::share_buffers() const { broadcast_together(world_, buffers_, 0, "the buffers"); }

}  // namespace runner
