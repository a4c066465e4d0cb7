#include "runner/engine/strategies/shard_sums.hpp"

#include <torch/types.h>

#include <algorithm>

#include "runner/engine/strategies/together.hpp"

namespace runner {

// The tensors of a shard are joined into one, followed by a 1 for each that is defined and a 0 for the
// others.
void TensorSums::add(const std::vector<torch::Tensor>& tensors) {
  const bool any_double = std::ranges::any_of(
      shapes_, [](const torch::Tensor& shape) { return shape.scalar_type() == torch::kDouble; });
  const torch::ScalarType type = any_double ? torch::kDouble : torch::kFloat;
  std::vector<torch::Tensor> pieces;
  const torch::Tensor present = torch::zeros(static_cast<std::int64_t>(tensors.size()), type);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    pieces.push_back(tensors[i].defined() ? tensors[i].detach().to(torch::kCPU, type).reshape(-1)
                                          : torch::zeros(shapes_[i].numel(), type));
    if (tensors[i].defined()) present[static_cast<std::int64_t>(i)] = 1;
  }
  pieces.push_back(present);
  sums_.add(torch::cat(pieces));
}

std::vector<std::pair<torch::Tensor, float>> TensorSums::total(std::string_view what) {
  const torch::Tensor flat = sums_.total(what);
  const auto count = static_cast<std::int64_t>(shapes_.size());
  const torch::Tensor present = flat.narrow(0, flat.numel() - count, count);
  std::vector<std::pair<torch::Tensor, float>> tensors;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const auto shards = present[static_cast<std::int64_t>(i)].item<float>();
    const torch::Tensor piece = flat.narrow(0, offset, shapes_[i].numel()).view(shapes_[i].sizes());
    tensors.emplace_back(shards > 0 ? piece : torch::Tensor(), shards);
    offset += shapes_[i].numel();
  }
  return tensors;
}

void ShardedGradients::end_shard() {
  std::vector<torch::Tensor> own;
  for (torch::Tensor& parameter : parameters_) {
    own.push_back(parameter.grad());
    parameter.mutable_grad().reset();
  }
  sums_.add(own);
}

void ShardedGradients::finish() {
  const auto summed = sums_.total("the gradients");
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!summed[i].first.defined()) continue;
    parameters_[i].mutable_grad() = torch::empty_like(parameters_[i]).copy_(summed[i].first);
  }
}

ShardedBuffers::ShardedBuffers(const std::vector<NamedTensor>& named, World& world)
    : sums_(averaged_, world), world_(world) {
  for (const NamedTensor& buffer : named) {
    (buffer.tensor.is_floating_point() ? averaged_ : counters_).push_back(buffer.tensor);
  }
  before_.add(named);
  for (const torch::Tensor& counter : counters_) largest_.push_back(counter.clone());
}

void ShardedBuffers::end_shard(bool empty) {
  sums_.add(empty ? std::vector<torch::Tensor>(averaged_.size()) : averaged_);
  for (std::size_t i = 0; i < counters_.size(); ++i) largest_[i] = torch::maximum(largest_[i], counters_[i]);
}

void ShardedBuffers::finish() {
  before_.restore();
  if (!averaged_.empty()) {
    const auto sums = sums_.total("the buffers");
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (sums[i].first.defined()) averaged_[i].copy_(sums[i].first / sums[i].second);
  }
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    const torch::Tensor largest = largest_[i].to(torch::kLong);  // not every number format can be compared
    world_.all_reduce(largest, Reduction::max, "the buffers");
    counters_[i].copy_(largest);
  }
}

ShardedPrecision::ShardedPrecision(Precision& precision, bool measures)
    : precision_(precision), measures_(measures) {
  if (measures_) before_ = precision_.save().copy();
}

void ShardedPrecision::begin_shard() {
  if (measures_) precision_.load(before_);
}

void ShardedPrecision::end_shard(std::int64_t shard, bool empty) {
  if (!measures_ || empty || first_) return;
  first_ = shard;
  after_ = precision_.save().copy();
}

void ShardedPrecision::finish(World& world, std::int64_t shards) {
  if (!measures_) return;
  const auto none = static_cast<double>(shards);
  const double first = world.all_reduce(first_ ? static_cast<double>(*first_) : none, Reduction::min,
                                        "the first shard with examples");
  precision_.load(first_ ? after_ : before_);
  if (first < none)
    share_state(world, precision_, static_cast<int>(first) * world.size() / static_cast<int>(shards),
                "the state of the precision");
}

}  // namespace runner
