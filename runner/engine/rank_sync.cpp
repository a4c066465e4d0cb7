#include "runner/engine/rank_sync.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <limits>

#include "registry/log.hpp"
#include "runner/engine/together.hpp"

namespace runner {

namespace {

std::vector<torch::Tensor> tensors_of(const std::vector<NamedTensor>& named) {
  std::vector<torch::Tensor> tensors;
  for (const NamedTensor& one : named) tensors.push_back(one.tensor);
  return tensors;
}

}  // namespace

std::vector<int> share_out(const std::vector<NamedTensor>& parameters, int ranks) {
  double all = 0;
  for (const NamedTensor& parameter : parameters) all += static_cast<double>(parameter.tensor.nbytes());
  std::vector<int> owners;
  double before = 0;
  for (const NamedTensor& parameter : parameters) {
    const auto bytes = static_cast<double>(parameter.tensor.nbytes());
    const double middle = all > 0 ? (before + bytes / 2) / all : 0;
    owners.push_back(std::min(static_cast<int>(middle * ranks), ranks - 1));
    before += bytes;
  }
  return owners;
}

void RankSync::prepare(const std::vector<NamedTensor>& parameters, const std::vector<NamedTensor>& buffers) {
  parameters_ = parameters;
  buffers_ = tensors_of(buffers);
  if (sharded_update()) owners_ = share_out(parameters_, world_.size());
  std::vector<NamedTensor> all = parameters_;
  all.insert(all.end(), buffers.begin(), buffers.end());
  broadcast_together(world_, tensors_of(all), 0, "the weights");
  require_equal(world_, all, "the weights");
}

bool RankSync::knows(const std::string& name) const {
  return std::ranges::find(parameters_, name, &NamedTensor::name) != parameters_.end();
}

bool RankSync::updates(const std::string& name) const {
  if (owners_.empty()) return true;
  const auto found = std::ranges::find(parameters_, name, &NamedTensor::name);
  return found != parameters_.end() &&
         owners_[static_cast<std::size_t>(found - parameters_.begin())] == world_.rank();
}

void RankSync::trained_have_changed() {
  bytes_of_old_buckets_ = bytes_sent();
  buckets_.reset();
}

void RankSync::make_buckets() {
  if (buckets_) return;
  BucketOptions options;
  options.bytes = static_cast<std::int64_t>(options_.bucket_size.bytes);
  options.first_bytes = std::min(options.first_bytes, options.bytes);
  if (options_.compression == Compression::fp16) options.wire = torch::kHalf;
  if (options_.compression == Compression::bf16) options.wire = torch::kBFloat16;
  std::vector<torch::Tensor> trained;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].tensor.requires_grad()) continue;
    trained.push_back(parameters_[i].tensor);
    if (sharded_gradients()) options.owners.push_back(owners_[i]);
  }
  buckets_ = std::make_unique<GradientBuckets>(world_, std::move(trained), options);
}

void RankSync::begin_last_backward() {
  make_buckets();
  buckets_->begin_last_backward();
}

void RankSync::reduce_gradients() {
  make_buckets();
  buckets_->finish();
}

torch::Tensor RankSync::total_norm(const torch::Tensor& own) const {
  if (!sharded_gradients()) return own;
  const torch::Tensor squared = own.detach().to(torch::kFloat64).square().reshape(1);
  world_.all_reduce(squared, Reduction::sum, "the norm of the gradients");
  return squared.sqrt().to(own.scalar_type()).squeeze();
}

void RankSync::spread_non_finite() const {
  if (!sharded_gradients()) return;
  std::vector<torch::Tensor> gradients;
  for (const NamedTensor& parameter : parameters_)
    if (parameter.tensor.grad().defined()) gradients.push_back(parameter.tensor.grad());
  bool finite = true;
  for (const torch::Tensor& gradient : gradients) finite = finite && gradient.isfinite().all().item<bool>();
  if (!world_.any(!finite, "whether a gradient is not finite") || !finite || gradients.empty()) return;
  gradients.front().fill_(std::numeric_limits<float>::quiet_NaN());
}

void RankSync::share_weights() {
  if (!sharded_update()) return;
  std::vector<torch::Tensor> together;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    together.push_back(parameters_[i].tensor);
    bytes += parameters_[i].tensor.nbytes();
    const bool last = i + 1 == parameters_.size() || owners_[i + 1] != owners_[i];
    if (!last && bytes < options_.bucket_size.bytes) continue;
    broadcast_together(world_, std::exchange(together, {}), owners_[i], "the updated weights");
    bytes = 0;
  }
}

void RankSync::share_buffers() const { broadcast_together(world_, buffers_, 0, "the buffers"); }

}  // namespace runner
