#include <torch/types.h>
#include <torch/utils.h>

#include "components/contract/example_random.hpp"
#include "registry/log.hpp"
#include "runner/engine/batch_part.hpp"
#include "runner/engine/engine.hpp"
#include "runner/engine/out_of_memory.hpp"
#include "runner/engine/together.hpp"
#include "runner/engine/tree_sum.hpp"

namespace runner {

namespace {

// Joins the tensors of a shard into one, followed by a 1 for each tensor that is defined and a 0 for the
// others, and splits the sum over all shards again.
class Flat {
 public:
  explicit Flat(const std::vector<torch::Tensor>& shapes) : shapes_(shapes) {}

  torch::Tensor join(const std::vector<torch::Tensor>& tensors) const {
    std::vector<torch::Tensor> pieces;
    const torch::Tensor present = torch::zeros(static_cast<std::int64_t>(tensors.size()));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      pieces.push_back(tensors[i].defined() ? tensors[i].detach().to(torch::kCPU, torch::kFloat).reshape(-1)
                                            : torch::zeros(shapes_[i].numel()));
      if (tensors[i].defined()) present[static_cast<std::int64_t>(i)] = 1;
    }
    pieces.push_back(present);
    return torch::cat(pieces);
  }

  // The sum of each tensor, undefined if no shard had one, and the number of shards that had it.
  std::vector<std::pair<torch::Tensor, float>> split(const torch::Tensor& flat) const {
    std::vector<std::pair<torch::Tensor, float>> tensors;
    const torch::Tensor present = flat.narrow(0, flat.numel() - count(), count());
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const float shards = present[static_cast<std::int64_t>(i)].item<float>();
      const torch::Tensor piece = flat.narrow(0, offset, shapes_[i].numel()).view(shapes_[i].sizes());
      tensors.emplace_back(shards > 0 ? piece : torch::Tensor(), shards);
      offset += shapes_[i].numel();
    }
    return tensors;
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(shapes_.size()); }

  const std::vector<torch::Tensor>& shapes_;
};

// The buffers, those that are averaged apart from counters, and their values before the window.
struct Buffers {
  explicit Buffers(const std::vector<NamedTensor>& named) {
    for (const NamedTensor& buffer : named) {
      (buffer.tensor.is_floating_point() ? averaged : counted).push_back(buffer.tensor);
    }
    before.add(named);
  }

  std::vector<torch::Tensor> averaged, counted;
  SavedTensors before;
};

// What the precision has measured. Every shard starts from the same state, and all ranks continue with the
// one after the first shard that has examples: which that is does not depend on the number of ranks.
class ShardedPrecision {
 public:
  ShardedPrecision(Precision& precision, bool measures) : precision_(precision), measures_(measures) {
    if (measures_) before_ = precision_.save().copy();
  }

  void begin_shard() {
    if (measures_) precision_.load(before_);
  }
  void end_shard(std::int64_t shard, bool empty) {
    if (!measures_ || empty || first_) return;
    first_ = shard;
    after_ = precision_.save().copy();
  }
  void finish(World& world, std::int64_t shards) {
    if (!measures_) return;
    const auto none = static_cast<double>(shards);
    const double first = world.all_reduce(first_ ? static_cast<double>(*first_) : none, Reduction::min,
                                          "the first shard with examples");
    precision_.load(first_ ? after_ : before_);
    if (first < none)
      share_state(world, precision_, static_cast<int>(first) * world.size() / static_cast<int>(shards),
                  "the state of the precision");
  }

 private:
  Precision& precision_;
  const bool measures_;
  State before_, after_;
  std::optional<std::int64_t> first_;  // of this rank's shards
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

// The window is cut into shards that do not depend on the number of ranks. Each is computed separately, from
// the same buffers and with its own seed, and all are summed in the order of a fixed tree.
WindowLoss Engine::accumulate_in_shards(const Window& window, const Loss& loss) {
  const std::int64_t shards = options_.distributed.shards;
  const std::int64_t first_shard = shards * world_->rank() / world_->size();
  const std::int64_t last_shard = shards * (world_->rank() + 1) / world_->size();
  const auto part = [&](std::size_t i, std::int64_t shard) {
    const Batch& own = window.batches[i];
    const std::int64_t all = window.sizes_of_batches.empty() ? own.size() : window.sizes_of_batches[i];
    const std::int64_t begin = all * shard / shards, end = all * (shard + 1) / shards;
    return part_of(own, begin - all * first_shard / shards, end - begin);
  };
  const auto counted = times_->during(TimeLedger::compute);

  TreeSum weights(*world_), gradients(*world_), buffers(*world_), losses(*world_);
  for (std::int64_t shard = first_shard; shard < last_shard; ++shard) {
    double weight = 0;
    for (std::size_t i = 0; i < window.batches.size(); ++i) {
      const Batch batch = part(i, shard);
      if (batch.size() == 0) continue;
      weight += loss.weight(batch);
    }
    weights.add(torch::full({1}, weight, torch::kFloat64));
  }
  const double weight = weights.total("the weight of the window").item<double>();
  model_->train();
  window_weight_ = weight != 0 ? weight : 1;
  gradients_unscaled_ = false;
  gradients_reduced_ = true;  // by this function

  Buffers held(weights_->held_buffers());
  std::vector<torch::Tensor> counts;
  for (const torch::Tensor& count : held.counted) counts.push_back(count.clone());
  ShardedPrecision measured(*precision_, precision_measures_);
  const Flat gradient_layout(parameters_), buffer_layout(held.averaged);
  for (std::int64_t shard = first_shard; shard < last_shard; ++shard) {
    const torch::NoGradGuard no_grad;
    held.before.restore();
    measured.begin_shard();
    if (window.seed) torch::manual_seed(example_seed(*window.seed, static_cast<std::uint64_t>(shard), 1));
    torch::Tensor sum = torch::zeros(1, torch::kFloat64);
    bool empty = true;
    for (std::size_t i = 0; i < window.batches.size(); ++i) {
      const Batch batch = placed(part(i, shard));
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
    std::vector<torch::Tensor> own_gradients;
    for (torch::Tensor& parameter : parameters_) {
      own_gradients.push_back(parameter.grad());
      parameter.mutable_grad().reset();
    }
    gradients.add(gradient_layout.join(own_gradients));
    buffers.add(buffer_layout.join(empty ? std::vector<torch::Tensor>(held.averaged.size()) : held.averaged));
    losses.add(sum);
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = torch::maximum(counts[i], held.counted[i]);
  }

  measured.finish(*world_, shards);
  const torch::NoGradGuard no_grad;
  const auto summed = gradient_layout.split(gradients.total("the gradients"));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!summed[i].first.defined()) continue;
    parameters_[i].mutable_grad() = torch::empty_like(parameters_[i]).copy_(summed[i].first);
  }
  held.before.restore();
  if (!held.averaged.empty()) {
    const auto means = buffer_layout.split(buffers.total("the buffers"));
    for (std::size_t i = 0; i < means.size(); ++i)
      if (means[i].first.defined()) held.averaged[i].copy_(means[i].first / means[i].second);
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    world_->all_reduce(counts[i], Reduction::max, "the buffers");
    held.counted[i].copy_(counts[i]);
  }
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
