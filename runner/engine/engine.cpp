#include "runner/engine/engine.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <stdexcept>

#include "components/contract/pattern.hpp"
#include "registry/base/log.hpp"
#include "runner/engine/runtime/batch_part.hpp"
#include "runner/engine/runtime/device.hpp"
#include "runner/engine/runtime/graphed_passes.hpp"
#include "runner/engine/strategies/local_average.hpp"
#include "runner/engine/strategies/owned_gradients.hpp"
#include "runner/engine/strategies/sharded_optimizer.hpp"
#include "runner/engine/strategies/sync_batch_norm.hpp"
#include "runner/engine/strategies/tree_sum.hpp"
#include "runner/engine/zero3/shard_offload.hpp"
#include "runner/engine/zero3/sharding.hpp"
#include "runner/engine/zero3/storage_memory.hpp"

namespace runner {

namespace {

// Refuses combinations of settings of which one is not in [distributed].
void require_compatible(const EngineOptions& options, const Precision& precision) {
  const DistributedOptions& distributed = options.distributed;
  if (distributed.compression == Compression::powersgd && precision.skips_updates())
    throw std::runtime_error(
        "distributed.compression = \"powersgd\" carries its error over to the next gradient, which this "
        "precision may scale differently: use precision = \"bf16\", or another compression.");
  if (distributed.sync_batch_norm && options.on_out_of_memory == OnOutOfMemory::split)
    throw std::runtime_error(
        "distributed.sync_batch_norm needs the same micro-batches on all ranks: it cannot be combined with "
        "train.on_out_of_memory = \"split\".");
}

// The type in which sharded parameters that layers multiply with are gathered; none: their own type.
std::optional<torch::ScalarType> gathered_type(const EngineOptions& options) {
  const GatherAs gather = options.distributed.gather;
  if (gather == GatherAs::compute && !options.weights_cast_to)
    throw std::runtime_error(
        "distributed.gather = \"compute\" needs a precision that casts the weights for every layer, such as "
        "\"bf16\": with this one layers read the weights themselves.");
  return gather == GatherAs::full ? std::nullopt : options.weights_cast_to;
}

bool has_batch_norm(const torch::nn::Module& model) {
  return std::ranges::any_of(model.named_buffers().keys(),
                             [](const std::string& name) { return name.ends_with("running_mean"); });
}

}  // namespace

Engine::Engine(const EngineOptions& options, World& world)
    : world_(&world),
      device_(resolve_device(options.device, world.local_rank())),
      to_device_(device_),
      options_(options),
      precision_(options.precision({device_})) {
  if (!device_.is_cpu()) c10::impl::VirtualGuardImpl(device_.type()).setDevice(device_);
  require_type(device_, precision_->compute_type(), "this precision");
  if (options_.graphs) graphs_ = std::make_unique<GraphedPasses>(device_);
}

Engine::Engine(Engine&& other) noexcept = default;

Engine::~Engine() = default;

void Engine::prepare(std::shared_ptr<Model> model, const OptimizerFactory& make_optimizer,
                     ParameterValues values) {
  module_ = model_ = std::move(model);
  adopt(*model_, options_.memory_format == MemoryFormat::automatic && model_->prefers_channels_last(),
        std::move(values));
  if (!make_optimizer) return;
  torch::OrderedDict<std::string, torch::Tensor> held;
  for (const auto& [name, tensor] : weights().held_parameters()) held.insert(name, tensor);
  optimizer_ =
      offload_ ? offload_->make_optimizer([&] { return make_optimizer(held); }) : make_optimizer(held);
  if (ranks_ && ranks_->sharded_update())
    optimizer_ = std::make_unique<ShardedOptimizer>(std::move(optimizer_), *ranks_);
}

void Engine::prepare_module(std::shared_ptr<torch::nn::Module> module) {
  model_.reset();
  module_ = std::move(module);
  adopt(*module_, false, {});
}

void Engine::adopt(torch::nn::Module& module, bool channels_last, ParameterValues values) {
  channels_last = channels_last || options_.memory_format == MemoryFormat::channels_last;
  layout_ = channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  if (!values.in_model())
    for (const torch::Tensor& parameter : module.parameters())
      place_without_memory(parameter, device_, layout_, GatheredCopy::not_gathered);
  if (options_.device_placement) module.to(device_);
  if (graphs_) graphs_->forget();
  names_.clear();
  holders_.clear();
  parameters_.clear();
  torch::NoGradGuard no_grad;
  weights_ = std::make_unique<ModelWeights>(module);
  for (auto& [name, parameter] : weights_->held_parameters()) {
    if (channels_last && parameter.dim() == 4) parameter.set_data(parameter.contiguous(layout_));
    if (!parameter.requires_grad()) continue;
    names_.push_back(name);
    holders_.emplace_back();
    parameters_.push_back(parameter);
  }
  precision_->prepare(module);
  precision_measures_ = !precision_->save().tensors.empty();
  if (options_.distributed.reproducible) TreeSum::require(options_.distributed.shards, world_->size());
  if (!world_->alone()) connect_ranks(module, std::move(values));
  updated_ = parameters_;
  if (!model_)  // the caller may unfreeze parameters later
    for (const auto& [name, parameter] : weights_->held_parameters())
      if (!parameter.requires_grad()) updated_.push_back(parameter);
  if (sharding())
    for (torch::Tensor& parameter : updated_) parameter = sharding()->parameters.slice_of(parameter);
}

void Engine::connect_ranks(const torch::nn::Module& module, ParameterValues values) {
  const DistributedOptions& distributed = options_.distributed;
  ranks_ = std::make_unique<RankSync>(*world_, distributed);
  ranks_->prepare(weights_->held_parameters(), weights_->held_buffers());
  require_compatible(options_, *precision_);
  if (distributed.strategy == RankStrategy::local_sgd)
    local_ = std::make_unique<LocalAverage>(*world_, distributed.average_every,
                                            static_cast<std::int64_t>(distributed.bucket_size.bytes));
  if (distributed.strategy == RankStrategy::zero2)
    owned_ = std::make_unique<OwnedGradients>(*weights_, ranks_->owners(), *world_);
  if (distributed.sync_batch_norm) {
    sync_norm_ = std::make_unique<SyncBatchNorm>(*world_);
    if (!has_batch_norm(module) && world_->is_main())
      log::warning("distributed.sync_batch_norm has no effect: the model has no batch norm.");
  }
  if (!model_ || distributed.strategy != RankStrategy::zero3) return;
  offload_ = std::make_unique<ShardOffload>(distributed, device_);
  ShardingOptions sharding;
  sharding.whole_parameters = options_.updates_by != UpdatesBy::element;
  sharding.cast = gathered_type(options_);
  offload_->apply_to(sharding);
  ranks_->shard(*model_, std::move(sharding), std::move(values));
}

Engine::ParameterCounts Engine::parameter_counts() const {
  ParameterCounts counts;
  for (const auto& [name, parameter] : weights_->held_parameters()) {
    counts.total += parameter.numel();
    if (parameter.requires_grad()) counts.trained += parameter.numel();
  }
  return counts;
}

const Weights& Engine::weights() const {
  if (sharding()) return sharding()->weights;
  return owned_ ? static_cast<const Weights&>(*owned_) : *weights_;
}

std::vector<NamedTensor> Engine::full_weights(const std::filesystem::path& folder) const {
  return sharding() ? sharding()->weights.all(folder) : weights_->all();
}

Stateful& Engine::weights_state(bool on_one_rank) const {
  if (!sharding()) return *weights_;
  return on_one_rank ? static_cast<Stateful&>(sharding()->weights_on_one_rank) : sharding()->weights;
}

Stateful& Engine::as_whole(Stateful& held) {
  if (!sharding()) return held;
  return *wholes_.emplace_back(std::make_unique<SlicedStateful>(held, sharding()->states));
}

void Engine::set_trained(std::size_t parameter, bool trained) {
  parameters_[parameter].set_requires_grad(trained);
  updated_[parameter].set_requires_grad(trained);
}

std::set<std::string> Engine::sharded_states(const NamedStates& states) const {
  const auto sharded = [&](const Stateful* state) {
    if (state == optimizer_.get()) return updates_a_part();
    if (compression() && state == compression()) return true;
    if (!sharding()) return false;
    return state == &sharding()->weights ||
           std::ranges::any_of(wholes_, [&](const auto& whole) { return whole.get() == state; });
  };
  std::set<std::string> names;
  for (const auto& [name, state] : states)
    if (sharded(state)) names.insert(name);
  return names;
}

void Engine::set_trainable(const std::vector<Trainability>& changes) {
  if (!changes.empty())
    average_weights();  // with local_sgd: frozen parameters are left out of later averages
  for (const auto& [pattern, trained, holder] : changes) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!selects(pattern, names_[i])) continue;
      if (trained)
        holders_[i].erase(holder);
      else
        holders_[i].insert(holder);
      set_trained(i, holders_[i].empty());
    }
  }
  if (!changes.empty() && graphs_) graphs_->forget();
  const auto trained = [](const torch::Tensor& parameter) { return parameter.requires_grad(); };
  if (!changes.empty() && std::ranges::none_of(parameters_, trained))
    throw std::runtime_error("A hook has frozen every parameter: nothing is left to train.");
}

void Engine::train_all() {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    holders_[i].clear();
    set_trained(i, true);
  }
  if (graphs_) graphs_->forget();
}

Batch Engine::placed(const Batch& batch) const {
  if (device_.is_cpu() || !options_.device_placement) return batch;
  return to_device_(batch);
}

torch::Tensor Engine::predict(Batch& batch) {
  torch::NoGradGuard no_grad;
  model_->eval();
  batch = placed(batch);
  const ForwardPass pass(sharding());
  const auto scope = precision_->forward();
  return model_->forward(batch);
}

void Engine::finish_passes() {
  if (!sharding()) return;
  const auto counted = times_->during(TimeLedger::communication);
  sharding()->parameters.join();
}

State Engine::save() const {
  State state{.parts = {{"precision", precision_->save()}}};
  if (most_examples_) state.integers["micro_batch"] = *most_examples_;
  if (example_weight_) state.numbers["example_weight"] = *example_weight_;
  State& frozen = state.parts["frozen"];
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (parameters_[i].requires_grad()) continue;
    auto& holders = frozen.parts[names_[i]].integers;
    for (const std::string& holder : holders_[i]) holders[holder] = 1;
    if (holders.empty()) holders[""] = 1;  // frozen by a program, not by a hook
  }
  return state;
}

void Engine::load(const State& state) {
  StateReader saved(state);
  precision_->load(saved.part("precision"));
  most_examples_ = saved.find_integer("micro_batch");
  example_weight_ = saved.find_number("example_weight");
  StateReader frozen(saved.part("frozen"));
  if (graphs_) graphs_->forget();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    holders_[i].clear();
    if (const State* holders = frozen.find_part(names_[i]))
      for (const auto& [holder, held] : holders->integers) holders_[i].insert(holder);
    set_trained(i, holders_[i].empty());
  }
  frozen.finish();
  saved.finish();
}

}  // namespace runner
