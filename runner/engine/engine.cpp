#include "runner/engine/engine.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "components/support/pattern.hpp"
#include "registry/log.hpp"
#include "runner/engine/device.hpp"
#include "runner/engine/gradients.hpp"
#include "runner/engine/local_average.hpp"
#include "runner/engine/sharded_optimizer.hpp"
#include "runner/engine/sharding.hpp"
#include "runner/engine/sync_batch_norm.hpp"
#include "runner/engine/tree_sum.hpp"

namespace runner {

namespace {

// What two settings together cannot do, where one of them is not in [distributed].
void require_compatible(const EngineOptions& options, const Precision& precision) {
  const DistributedSection& distributed = options.distributed;
  if (distributed.compression == Compression::powersgd && precision.skips_updates())
    throw std::runtime_error(
        "distributed.compression = \"powersgd\" carries its error over to the next gradient, which this "
        "precision may scale differently: use precision = \"bf16\", or another compression.");
  if (distributed.sync_batch_norm && options.on_out_of_memory == OnOutOfMemory::split)
    throw std::runtime_error(
        "distributed.sync_batch_norm needs the same micro-batches on all ranks: it cannot be combined with "
        "train.on_out_of_memory = \"split\".");
}

bool has_batch_norm(const torch::nn::Module& model) {
  return std::ranges::any_of(model.named_buffers().keys(),
                             [](const std::string& name) { return name.ends_with("running_mean"); });
}

// What a forward pass in training happens under: gathered weights, the precision, batch norm over all ranks.
class TrainingPass {
 public:
  TrainingPass(Sharding* sharding, Precision& precision, SyncBatchNorm* norm)
      : weights_(sharding), precision_(precision.forward()) {
    if (norm) norm_.emplace(*norm);
  }

 private:
  ForwardPass weights_;
  std::unique_ptr<PrecisionScope> precision_;
  std::optional<OperatorModeScope> norm_;
};

}  // namespace

Engine::Engine(const EngineOptions& options, World& world)
    : world_(&world),
      device_(resolve_device(options.device, world.local_rank())),
      options_(options),
      precision_(options.precision({device_})) {
  if (!device_.is_cpu()) c10::impl::VirtualGuardImpl(device_.type()).setDevice(device_);
}

Engine::Engine(Engine&& other) noexcept = default;

Engine::~Engine() = default;

void Engine::prepare(std::shared_ptr<Model> model, const OptimizerFactory& make_optimizer) {
  module_ = model_ = std::move(model);
  adopt(*model_, options_.memory_format == MemoryFormat::automatic && model_->prefers_channels_last());
  if (!make_optimizer) return;
  torch::OrderedDict<std::string, torch::Tensor> held;
  for (const auto& [name, tensor] : weights().held_parameters()) held.insert(name, tensor);
  optimizer_ = make_optimizer(held);
  if (ranks_ && ranks_->sharded_update())
    optimizer_ = std::make_unique<ShardedOptimizer>(std::move(optimizer_), *ranks_);
}

void Engine::prepare_module(std::shared_ptr<torch::nn::Module> module) {
  model_.reset();
  module_ = std::move(module);
  adopt(*module_, false);
}

void Engine::adopt(torch::nn::Module& module, bool channels_last) {
  if (options_.device_placement) module.to(device_);
  channels_last = channels_last || options_.memory_format == MemoryFormat::channels_last;
  layout_ = channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  names_.clear();
  parameters_.clear();
  torch::NoGradGuard no_grad;
  for (auto& item : module.named_parameters()) {
    torch::Tensor& parameter = item.value();
    if (channels_last && parameter.dim() == 4) parameter.set_data(parameter.contiguous(layout_));
    if (!parameter.requires_grad()) continue;
    names_.push_back(item.key());
    parameters_.push_back(parameter);
  }
  weights_ = std::make_unique<ModelWeights>(module);
  precision_->prepare(module);
  if (options_.distributed.reproducible) TreeSum::require(options_.distributed.shards, world_->size());
  if (!world_->alone()) {
    ranks_ = std::make_unique<RankSync>(*world_, options_.distributed);
    ranks_->prepare(weights_->held_parameters(), weights_->held_buffers());
    require_compatible(options_, *precision_);
    if (options_.distributed.strategy == RankStrategy::local_sgd)
      local_ =
          std::make_unique<LocalAverage>(*world_, options_.distributed.average_every,
                                         static_cast<std::int64_t>(options_.distributed.bucket_size.bytes));
    if (options_.distributed.sync_batch_norm) {
      sync_norm_ = std::make_unique<SyncBatchNorm>(*world_);
      if (!has_batch_norm(module) && world_->is_main())
        log::warning("distributed.sync_batch_norm changes nothing: the model has no batch norm.");
    }
    if (model_) ranks_->shard(*model_, options_.updates_by == UpdatesBy::element);
  }
  updated_ = parameters_;
  if (sharding())
    for (torch::Tensor& parameter : updated_) parameter = sharding()->parameters.slice_of(parameter);
}

const Weights& Engine::weights() const {
  return sharding() ? static_cast<const Weights&>(sharding()->weights) : *weights_;
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
  for (const auto& [pattern, trained] : changes) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (selects(pattern, names_[i])) set_trained(i, trained);
    }
  }
  const auto trained = [](const torch::Tensor& parameter) { return parameter.requires_grad(); };
  if (!changes.empty() && std::ranges::none_of(parameters_, trained))
    throw std::runtime_error("A hook has frozen every parameter: nothing is left to train.");
}

Batch Engine::placed(const Batch& batch) const {
  if (device_.is_cpu() || !options_.device_placement) return batch;
  // Copies from pinned memory overlap with computing.
  const auto move = [&](const torch::Tensor& tensor) { return tensor.to(device_, /*non_blocking=*/true); };
  Batch moved{move(batch.input), move(batch.target)};
  for (const auto& [name, tensor] : batch.extra) moved.extra.emplace(name, move(tensor));
  return moved;
}

void Engine::exchange_gradients() {
  if (gradients_reduced_) return;
  gradients_reduced_ = true;
  if (!local_) return ranks_->reduce_gradients();
  if (own_weight_ > 0) return;
  // Nothing to learn from, but the update is counted, here as on all other ranks.
  for (torch::Tensor& parameter : parameters_) {
    if (parameter.requires_grad() && !parameter.grad().defined())
      parameter.mutable_grad() = torch::zeros_like(parameter);
  }
}

torch::Tensor Engine::loss_sum_of(const Batch& batch, const Loss& loss) {
  const TrainingPass pass(sharding(), *precision_, sync_norm_.get());
  return loss.sum(model_->forward(batch), batch);
}

void Engine::begin_window(double weight, std::int64_t micro_batches) {
  finish_passes();
  if (model_) model_->train();
  window_weight_ = own_weight_ = weight;
  if (ranks_) {  // on its way while this rank computes
    weight_sum_ = torch::full({1}, weight, torch::kFloat64);
    weight_work_ = world_->begin_all_reduce(weight_sum_, Reduction::sum, "the weight of the window");
  }
  backward_left_ = micro_batches;
  gradients_unscaled_ = false;
  gradients_reduced_ = false;
}

double Engine::global_window_weight() {
  if (weight_sum_.defined()) {
    weight_work_.wait();
    window_weight_ = weight_sum_.item<double>();
    weight_sum_.reset();
  }
  if (window_weight_ == 0) window_weight_ = 1;  // every target is one to be ignored: no gradient, not 0 / 0
  return window_weight_;
}

torch::Tensor Engine::forward(const Batch& batch) {
  const TrainingPass pass(sharding(), *precision_, sync_norm_.get());
  return model_->forward(placed(batch));
}

void Engine::backward(const torch::Tensor& loss_sum) {
  if (backward_left_-- <= 0)
    throw std::logic_error("backward() was called more often than begin_window() announced");
  backward(loss_sum, backward_left_ == 0);
}

void Engine::backward(const torch::Tensor& loss_sum, bool last, bool keep_graph) {
  const double weight = local_ ? (own_weight_ != 0 ? own_weight_ : 1) : global_window_weight();
  // Gradients set out while backward runs; not where they may have to be computed again.
  if (ranks_ && !local_ && last && options_.on_out_of_memory == OnOutOfMemory::stop)
    ranks_->begin_last_backward();
  // The division by the weight is where the gradients begin, instead of an operator and its own gradient.
  const torch::Tensor start = precision_->scale(torch::full_like(loss_sum, 1 / weight));
  if (!sharding()) return loss_sum.backward(start, keep_graph);
  sharding()->parameters.begin_backward();
  {
    const OperatorModeScope gathering(sharding()->parameters);
    loss_sum.backward(start, keep_graph);
  }
  sharding()->parameters.end_backward();
}

bool Engine::complete_gradients() {
  if (!gradients_unscaled_) {
    if (!gradients_reduced_) finish_passes();
    if (ranks_) exchange_gradients();
    auto gradients = gradients_of(updated_);
    // One that another rank has is made known to the precision by one of our own.
    if (ranks_ && precision_->skips_updates() && ranks_->any_not_finite(gradients))
      gradients.push_back(torch::full({1}, std::numeric_limits<float>::quiet_NaN(), device_));
    gradients_finite_ = precision_->unscale(gradients);
    gradients_unscaled_ = true;
  }
  return gradients_finite_;
}

torch::Tensor Engine::own_norm() {
  complete_gradients();
  if (!own_norm_.defined()) own_norm_ = total_norm(gradients_of(updated_));
  return own_norm_;
}

torch::Tensor Engine::gradient_norm() {
  if (!norm_.defined()) norm_ = ranks_ ? ranks_->total_norm(own_norm()) : own_norm();
  return norm_;
}

bool Engine::update(double lr_factor) {
  const bool finite = complete_gradients();
  if (finite) {
    const auto gradients = gradients_of(updated_);
    if (options_.clip_norm)
      clip_to_norm(gradients, local_ ? own_norm() : gradient_norm(), *options_.clip_norm);
    if (options_.clip_value) clip_to_value(gradients, *options_.clip_value);
    optimizer_->step(lr_factor);
    share_weights();
    if (local_) local_->updated(own_weight_);
  }
  if (local_ && local_->due()) average_weights();
  if (!local_) share_buffers();
  discard_gradients();
  return finite;
}

void Engine::share_weights() {
  if (ranks_) ranks_->share_weights();
}

void Engine::share_buffers() {
  if (ranks_ && !options_.distributed.reproducible) ranks_->share_buffers();
}

bool Engine::ranks_are_equal() const { return !local_ || local_->ranks_are_equal(); }

void Engine::average_weights() {
  if (!local_) return;
  const auto counted = times_->during(TimeLedger::communication);
  local_->average(weights_->held_parameters(), weights_->held_buffers(), *optimizer_);
}

void Engine::prepare_to_save() {
  average_weights();
  if (ranks_) ranks_->prepare_to_save();
}

void Engine::discard_gradients() {
  for (torch::Tensor& parameter : updated_) parameter.mutable_grad().reset();
  if (ranks_) ranks_->drop_gradients();
  own_norm_.reset();
  norm_.reset();
}

Agreement Engine::agree(const Agreement& own) const {
  if (world_->alone()) return own;
  const auto counted = times_->during(TimeLedger::communication);
  const torch::Tensor wishes = torch::tensor(
      {own.stop ? 1.0 : 0.0, static_cast<double>(own.signal), own.checkpoint ? 1.0 : 0.0, own.seconds},
      torch::kFloat64);
  world_->all_reduce(wishes, Reduction::max, "what to do next");
  const double* agreed = wishes.data_ptr<double>();
  return {agreed[0] > 0, static_cast<int>(agreed[1]), agreed[2] > 0, agreed[3]};
}

torch::Tensor Engine::predict(Batch& batch) {
  torch::NoGradGuard no_grad;
  model_->eval();
  batch = placed(batch);
  const ForwardPass pass(sharding());
  const auto scope = precision_->forward();
  return model_->forward(batch);
}

void Engine::pass(const Batch& batch) {
  torch::NoGradGuard no_grad;
  model_->train();
  const ForwardPass forward(sharding());
  const auto scope = precision_->forward();
  model_->forward(placed(batch));
}

void Engine::finish_passes() {
  if (!sharding()) return;
  const auto counted = times_->during(TimeLedger::communication);
  sharding()->parameters.join();
}

State Engine::save() const {
  State state{.parts = {{"precision", precision_->save()}}};
  if (most_examples_) state.integers["micro_batch"] = *most_examples_;
  if (State compression = ranks_ ? ranks_->save() : State(); !compression.empty())
    state.parts["compression"] = std::move(compression);
  State& frozen = state.parts["frozen"];
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (!parameters_[i].requires_grad()) frozen.integers[names_[i]] = 1;
  }
  return state;
}

void Engine::load(const State& state) {
  StateReader saved(state);
  precision_->load(saved.part("precision"));
  most_examples_ = saved.find_integer("micro_batch");
  // Without compression, or alone, what it once left out is lost.
  if (const State* compression = saved.find_part("compression"); compression && ranks_)
    ranks_->load(*compression);
  StateReader frozen(saved.part("frozen"));
  for (std::size_t i = 0; i < names_.size(); ++i) set_trained(i, !frozen.find_integer(names_[i]).has_value());
  frozen.finish();
  saved.finish();
}

}  // namespace runner
