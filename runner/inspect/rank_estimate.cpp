#include "runner/inspect/rank_estimate.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <bit>

#include "components/optimizers/groups.hpp"
#include "registry/base/log.hpp"
#include "runner/engine/strategies/own_groups.hpp"
#include "runner/engine/strategies/rank_sync.hpp"
#include "runner/engine/strategies/tree_sum.hpp"
#include "runner/inspect/counting_world.hpp"
#include "runner/inspect/sharded_estimate.hpp"

namespace runner {

namespace {

std::int64_t bytes_of(const torch::Tensor& tensor) { return static_cast<std::int64_t>(tensor.nbytes()); }

// Tensors on the meta device with the same shapes and types, and a gradient if they are trained.
std::vector<NamedTensor> outlines(const torch::OrderedDict<std::string, torch::Tensor>& tensors) {
  std::vector<NamedTensor> all;
  for (const auto& item : tensors) {
    const torch::Tensor& tensor = item.value();
    torch::Tensor outline =
        torch::empty(tensor.sizes(), tensor.options().device(torch::kMeta).requires_grad(false));
    if (tensor.requires_grad()) {
      outline.set_requires_grad(true);
      outline.mutable_grad() = torch::empty_like(outline).detach();
    }
    all.push_back({item.key(), outline});
  }
  return all;
}

struct Sizes {
  std::int64_t weights = 0, parameters = 0, trained = 0, largest = 0;  // largest: parameter that is trained
};

Sizes sizes_of(const std::vector<NamedTensor>& parameters, const std::vector<NamedTensor>& buffers) {
  Sizes sizes;
  for (const NamedTensor& parameter : parameters) {
    sizes.parameters += bytes_of(parameter.tensor);
    if (!parameter.tensor.requires_grad()) continue;
    sizes.trained += bytes_of(parameter.tensor);
    sizes.largest = std::max(sizes.largest, bytes_of(parameter.tensor));
  }
  sizes.weights = sizes.parameters;
  for (const NamedTensor& buffer : buffers) sizes.weights += bytes_of(buffer.tensor);
  return sizes;
}

// Simulates an update of one rank.
class Walk {
 public:
  Walk(const Recipe& recipe, int rank, int ranks, const std::vector<NamedTensor>& parameters,
       const std::vector<NamedTensor>& buffers)
      : recipe_(recipe), parameters_(parameters), world_(rank, ranks), sync_(world_, recipe.distributed) {
    sync_.take(parameters, buffers);
  }

  // Bytes of the parameters that the rank updates.
  std::int64_t share() const {
    std::int64_t bytes = 0;
    for (const NamedTensor& parameter : parameters_)
      if (parameter.tensor.requires_grad() && sync_.updates(parameter.name))
        bytes += bytes_of(parameter.tensor);
    return bytes;
  }
  std::int64_t optimizer_bytes(Model& model) const {
    const auto own = [&](const std::string& name) { return sync_.updates(name); };
    return optimizer_bytes_of_rank(recipe_, model.named_parameters(), own, world_.rank(), world_.size())
        .state;
  }
  std::int64_t gradient_bytes() {
    // With several micro-batches, gradients are summed elsewhere before they are sent.
    return sync_.most_gradient_bytes(recipe_.train.accumulation_steps > 1 ||
                                     recipe_.train.on_out_of_memory == OnOutOfMemory::split);
  }
  std::int64_t sent_bytes() {
    sync_.reduce_gradients();
    sync_.share_weights();
    sync_.share_buffers();
    return world_.bytes_sent();
  }

 private:
  const Recipe& recipe_;
  const std::vector<NamedTensor>& parameters_;
  CountingWorld world_;
  RankSync sync_;
};

std::int64_t depth_of(std::int64_t leaves) { return std::bit_width(static_cast<std::uint64_t>(leaves)) - 1; }

// Memory in addition to the gradients, which are views of the buckets in which they are sent.
std::int64_t exchange_bytes(const Recipe& recipe, const Sizes& sizes, const RankEstimate& found) {
  const DistributedOptions& distributed = recipe.distributed;
  std::int64_t bytes = sizes.largest;  // gradients are computed one at a time
  // Weights are sent later, some at a time.
  const std::int64_t at_once = static_cast<std::int64_t>(distributed.bucket_size.bytes) + sizes.largest;
  if (distributed.strategy == RankStrategy::zero1)
    bytes = std::max(bytes, std::min(at_once, found.largest_share));
  if (distributed.strategy == RankStrategy::local_sgd) bytes = std::min(at_once, sizes.weights);
  // Partial sums of the tree, one of each depth, and what another rank sends.
  if (distributed.reproducible) bytes = sizes.trained * (2 + depth_of(distributed.shards / found.ranks));
  const bool half =
      distributed.compression == Compression::fp16 || distributed.compression == Compression::bf16;
  if (half) bytes += found.gradient_bytes / 2;
  // The error that it keeps is as large as the gradients.
  if (distributed.compression == Compression::powersgd) bytes += sizes.trained;
  return bytes;
}

}  // namespace

OptimizerBytes optimizer_bytes_of_rank(const Recipe& recipe,
                                       const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                                       const std::function<bool(const std::string&)>& updates, int rank,
                                       int ranks) {
  try {
    const auto own = own_inputs(make_groups(parameters, recipe.optimizer.common), updates);
    return optimizer_bytes(parameters.values(), *recipe.optimizer.build(own));
  } catch (const std::exception& error) {
    std::int64_t share = 0;
    for (const auto& item : parameters)
      if (item.value().requires_grad() && updates(item.key())) share += bytes_of(item.value());
    throw std::runtime_error(
        log::format("{} (Rank {} of {} would update only {} bytes of parameters: use fewer ranks or another "
                    "strategy.)",
                    error.what(), rank, ranks, share));
  }
}

RankEstimate estimate_ranks(const Recipe& recipe, Model& model, int ranks) {
  const DistributedOptions& distributed = recipe.distributed;
  if (distributed.strategy == RankStrategy::zero3) return estimate_sharded(recipe, model, ranks);
  if (distributed.reproducible) TreeSum::require(distributed.shards, ranks);
  const std::vector<NamedTensor> parameters = outlines(model.named_parameters()),
                                 buffers = outlines(model.named_buffers());
  const Sizes sizes = sizes_of(parameters, buffers);
  const bool local = distributed.strategy == RankStrategy::local_sgd;
  const bool alike = local || distributed.strategy == RankStrategy::ddp;
  const bool in_buckets =
      !local && !distributed.reproducible && distributed.compression != Compression::powersgd;
  RankEstimate result{.ranks = ranks, .weight_bytes = sizes.weights, .smallest_share = sizes.trained};
  for (int rank = 0; rank < (alike ? 1 : ranks); ++rank) {
    Walk walk(recipe, rank, ranks, parameters, buffers);
    const std::int64_t share = walk.share(), state = walk.optimizer_bytes(model),
                       gradients = in_buckets ? walk.gradient_bytes() : sizes.trained;
    result.smallest_share = std::min(result.smallest_share, share);
    result.largest_share = std::max(result.largest_share, share);
    if (gradients + state > result.gradient_bytes + result.optimizer_bytes) {  // the rank that needs most
      result.gradient_bytes = gradients;
      result.optimizer_bytes = state;
    }
    if (rank == 0) result.sent_bytes = walk.sent_bytes();
  }
  result.exchange_bytes = exchange_bytes(recipe, sizes, result);
  const std::int64_t buffer_bytes = sizes.weights - sizes.parameters;
  if (distributed.reproducible) result.sent_bytes = depth_of(ranks) * (sizes.trained + buffer_bytes);
  if (local)  // weights and optimizer state, every `average_every` steps
    result.sent_bytes = 2 * std::int64_t{ranks - 1} *
                        (sizes.trained + buffer_bytes + result.optimizer_bytes) / ranks /
                        distributed.average_every;
  return result;
}

}  // namespace runner
