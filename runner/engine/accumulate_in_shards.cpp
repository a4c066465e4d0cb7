#include <torch/types.h>
#include <torch/utils.h>

#include "components/contract/example_random.hpp"
#include "registry/base/log.hpp"
#include "runner/engine/engine.hpp"
#include "runner/engine/runtime/batch_part.hpp"
#include "runner/engine/runtime/out_of_memory.hpp"
#include "runner/engine/strategies/shard_sums.hpp"
#include "runner/engine/strategies/tree_sum.hpp"

namespace runner {

namespace {

// The window, cut into shards that do not depend on the number of ranks; each rank computes as many of them.
class WindowShards {
 public:
  WindowShards(const Window& window, std::int64_t count, World& world)
      : first(count * world.rank() / world.size()),
        last(count * (world.rank() + 1) / world.size()),
        window_(window),
        count_(count),
        world_(world) {}

  // The examples of one batch of the window that belong to the shard.
  Batch part(std::size_t batch, std::int64_t shard) const {
    const Batch& own = window_.batches[batch];
    const std::int64_t all = window_.sizes_of_batches.empty() ? own.size() : window_.sizes_of_batches[batch];
    const std::int64_t begin = all * shard / count_, end = all * (shard + 1) / count_;
    return part_of(own, begin - all * first / count_, end - begin);
  }

  // The weight of the window of all ranks.
  double weight(const Loss& loss) const {
    TreeSum weights(world_);
    for (std::int64_t shard = first; shard < last; ++shard) {
      double weight = 0;
      for (std::size_t i = 0; i < window_.batches.size(); ++i) {
        const Batch batch = part(i, shard);
        if (batch.size() > 0) weight += loss.weight(batch);
      }
      weights.add(torch::full({1}, weight, torch::kFloat64));
    }
    return weights.total("the weight of the window").item<double>();
  }

  const std::int64_t first, last;  // those of this rank

 private:
  const Window& window_;
  const std::int64_t count_;
  World& world_;
};

// Runs a pass. If memory runs out, the error says how to avoid that.
template <class Pass>
void or_say_what_helps(std::int64_t examples, Pass&& pass) {
  try {
    pass();
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    const std::string why = error.what();
    throw std::runtime_error(log::format(
        "The {} examples of a shard do not fit into memory. Divide loader.batch_size and multiply "
        "train.accumulation_steps by the same number, or raise distributed.shards. ({})",
        examples, why.substr(0, why.find('\n'))));
  }
}

}  // namespace

// Each shard of the window is computed separately, from the same buffers and with its own seed, and all are
// summed in the order of a fixed tree.
WindowLoss Engine::accumulate_in_shards(const Window& window, const Loss& loss) {
  const WindowShards shards(window, options_.distributed.shards, *world_);
  const auto counted = times_->during(TimeLedger::compute);
  const double weight = shards.weight(loss);
  model_->train();
  window_weight_ = weight != 0 ? weight : 1;
  gradients_unscaled_ = false;
  gradients_reduced_ = true;  // by this function

  ShardedGradients gradients(parameters_, *world_);
  ShardedBuffers buffers(weights_->held_buffers(), *world_);
  ShardedPrecision measured(*precision_, precision_measures_);
  TreeSum losses(*world_);
  for (std::int64_t shard = shards.first; shard < shards.last; ++shard) {
    const torch::NoGradGuard no_grad;
    buffers.begin_shard();
    measured.begin_shard();
    if (window.seed) torch::manual_seed(example_seed(*window.seed, static_cast<std::uint64_t>(shard), 1));
    torch::Tensor sum = torch::zeros(1, torch::kFloat64);
    bool empty = true;
    for (std::size_t i = 0; i < window.batches.size(); ++i) {
      const Batch batch = placed(shards.part(i, shard));
      if (batch.size() == 0) continue;
      const torch::AutoGradMode on(true);
      or_say_what_helps(batch.size(), [&] {
        const torch::Tensor own = loss_sum_of(batch, loss);
        own.backward(precision_->scale(torch::full_like(own, 1 / window_weight_)));
        sum += own.detach().to(torch::kCPU, torch::kFloat64);
      });
      empty = false;
    }
    measured.end_shard(shard, empty);
    gradients.end_shard();
    buffers.end_shard(empty);
    losses.add(sum);
  }

  measured.finish(*world_, options_.distributed.shards);
  const torch::NoGradGuard no_grad;
  gradients.finish();
  buffers.finish();
  WindowLoss result{losses.total("the loss").squeeze(), window_weight_};
  if (window.numbers_to_sum) {
    result.summed_numbers = window.numbers_to_sum();
    const auto size = static_cast<std::int64_t>(result.summed_numbers.size());
    world_->all_reduce(torch::from_blob(result.summed_numbers.data(), {size}, torch::kFloat64),
                       Reduction::sum, "what to do next");
  }
  return result;
}

}  // namespace runner
