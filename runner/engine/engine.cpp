#include "runner/engine/engine.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <stdexcept>

#include "components/contract/sample_random.hpp"
#include "components/support/pattern.hpp"
#include "registry/divide_up.hpp"
#include "registry/log.hpp"
#include "runner/data/batch_part.hpp"
#include "runner/engine/device.hpp"
#include "runner/engine/gradients.hpp"
#include "runner/engine/out_of_memory.hpp"
#include "runner/engine/sharded_optimizer.hpp"
#include "runner/engine/tree_sum.hpp"

namespace runner {

Engine::Engine(const EngineOptions& options, World& world)
    : world_(&world),
      device_(resolve_device(options.device)),
      options_(options),
      precision_(options.precision({device_})) {}

void Engine::prepare(std::shared_ptr<Model> model, const OptimizerFactory& make_optimizer) {
  model_ = std::move(model);
  model_->to(device_);
  const MemoryFormat wanted = options_.memory_format;
  const bool channels_last = wanted == MemoryFormat::channels_last ||
                             (wanted == MemoryFormat::automatic && model_->prefers_channels_last());
  layout_ = channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  names_.clear();
  parameters_.clear();
  torch::NoGradGuard no_grad;
  for (auto& item : model_->named_parameters()) {
    torch::Tensor& parameter = item.value();
    if (channels_last && parameter.dim() == 4) parameter.set_data(parameter.contiguous(layout_));
    if (!parameter.requires_grad()) continue;
    names_.push_back(item.key());
    parameters_.push_back(parameter);
  }
  weights_ = std::make_unique<ModelWeights>(*model_);
  precision_->prepare(*model_);
  if (options_.distributed.reproducible) TreeSum::require(options_.distributed.shards, world_->size());
  if (!world_->alone()) {
    ranks_ = std::make_unique<RankSync>(*world_, options_.distributed);
    ranks_->prepare(weights_->held_parameters(), weights_->held_buffers());
  }
  if (!make_optimizer) return;
  optimizer_ = make_optimizer(model_->named_parameters());
  if (ranks_ && ranks_->sharded_update())
    optimizer_ = std::make_unique<ShardedOptimizer>(std::move(optimizer_), *world_, *ranks_);
}

std::vector<NamedTensor> Engine::full_weights() const { return weights_->all(); }

void Engine::set_trainable(const std::vector<Trainability>& changes) {
  for (const auto& [pattern, trained] : changes) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (selects(pattern, names_[i])) parameters_[i].set_requires_grad(trained);
    }
  }
  const auto trained = [](const torch::Tensor& parameter) { return parameter.requires_grad(); };
  if (!changes.empty() && std::ranges::none_of(parameters_, trained))
    throw std::runtime_error("A hook has frozen every parameter: nothing is left to train.");
  if (ranks_ && !changes.empty()) ranks_->trained_have_changed();
}

Batch Engine::placed(const Batch& batch) const {
  if (device_.is_cpu()) return batch;
  // Copies from pinned memory overlap with computing.
  const auto move = [&](const torch::Tensor& tensor) { return tensor.to(device_, /*non_blocking=*/true); };
  Batch moved{move(batch.input), move(batch.target)};
  for (const auto& [name, tensor] : batch.extra) moved.extra.emplace(name, move(tensor));
  return moved;
}

WindowLoss Engine::accumulate(const Window& window, const Loss& loss) {
  if (options_.distributed.reproducible) return accumulate_in_shards(window, loss);
  std::optional<UpdateStart> start;  // only who may try again has to remember it
  if (options_.on_out_of_memory == OnFullMemory::split) start.emplace(*weights_, *precision_);
  while (true) {
    std::string why;
    WindowLoss result;
    try {
      result = accumulate_once(window, loss);
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error)) throw;
      why = error.what();
      why.resize(std::min(why.size(), why.find('\n')));  // LibTorch then says where in its code it was
    }
    const bool again = start && ranks_ ? world_->any(!why.empty(), "whether memory ran out") : !why.empty();
    if (!again) return over_all_ranks(std::move(result));
    discard_gradients();
    if (!why.empty()) make_micro_batches_smaller(window, why);
    start->restore();
  }
}

// Every gradient, and the loss, of all ranks together.
WindowLoss Engine::over_all_ranks(WindowLoss own) {
  if (!ranks_) return own;
  const auto counted = times_->during(TimeLedger::communication);
  const torch::Tensor sum = own.sum.defined()
                                ? own.sum.to(torch::kFloat64, /*non_blocking=*/false, /*copy=*/true)
                                : torch::zeros({}, torch::dtype(torch::kFloat64).device(device_));
  Work loss = world_->begin_all_reduce(sum, Reduction::sum, "the loss");
  ranks_->reduce_gradients();
  gradients_reduced_ = true;
  loss.wait();
  return {sum, own.weight};
}

WindowLoss Engine::accumulate_once(const Window& window, const Loss& loss) {
  if (window.seed) {  // dropout differs from rank to rank
    const auto rank = static_cast<std::uint64_t>(world_->rank());
    torch::manual_seed(rank == 0 ? *window.seed : sample_seed(*window.seed, rank, 0));
  }
  double weight = 0;
  std::int64_t parts = 0;
  for (const Batch& batch : window.batches) {
    weight += loss.weight(batch);
    const std::int64_t size = batch.size(), at_once = std::min(size, most_examples_.value_or(size));
    parts += at_once > 0 ? divide_up(size, at_once) : 0;
  }
  begin_window(weight, parts);
  torch::Tensor total;
  for (const Batch& micro_batch : window.batches) {
    const std::int64_t size = micro_batch.size(), at_once = std::min(size, most_examples_.value_or(size));
    for (std::int64_t first = 0; first < size; first += at_once) {
      const Batch batch = placed(part_of(micro_batch, first, std::min(at_once, size - first)));
      const torch::Tensor sum = loss_sum_of(batch, loss);
      backward(sum);
      total = total.defined() ? total + sum.detach() : sum.detach();
    }
  }
  return {total, global_window_weight()};
}

torch::Tensor Engine::loss_sum_of(const Batch& batch, const Loss& loss) {
  const auto scope = precision_->forward();
  return loss.sum(model_->forward(batch), batch);
}

void Engine::begin_window(double weight, std::int64_t micro_batches) {
  model_->train();
  window_weight_ = weight;
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
  const auto scope = precision_->forward();
  return model_->forward(placed(batch));
}

void Engine::backward(const torch::Tensor& loss_sum) {
  if (backward_left_-- <= 0)
    throw std::logic_error("backward() was called more often than begin_window() announced");
  const double weight = global_window_weight();
  // Gradients set out while backward runs; not where they may have to be computed again.
  if (ranks_ && backward_left_ == 0 && options_.on_out_of_memory == OnFullMemory::stop)
    ranks_->begin_last_backward();
  // The division by the weight is where the gradients begin, instead of an operator and its own gradient.
  loss_sum.backward(precision_->scale(torch::full_like(loss_sum, 1 / weight)));
}

void Engine::make_micro_batches_smaller(const Window& window, const std::string& why) {
  std::int64_t largest = 1;
  for (const Batch& batch : window.batches) largest = std::max(largest, batch.size());
  largest = std::min(largest, most_examples_.value_or(largest));
  if (options_.on_out_of_memory == OnFullMemory::stop) {
    throw std::runtime_error(log::format(
        "{} examples at once do not fit into memory. Divide loader.batch_size and multiply "
        "train.accumulation_steps by the same number, or set train.on_out_of_memory = \"split\". ({})",
        largest, why));
  }
  if (largest == 1)
    throw std::runtime_error(log::format("Not even one example at a time fits into memory. ({})", why));
  most_examples_ = divide_up(largest, 2);
  log::warning(
      "{} examples at once do not fit into memory: from now on {}, and as many in an update as before.",
      largest, *most_examples_);
}

bool Engine::finish_gradients() {
  if (!gradients_unscaled_) {
    if (ranks_ && !gradients_reduced_) ranks_->reduce_gradients();
    gradients_reduced_ = true;
    if (ranks_) ranks_->spread_non_finite();
    gradients_finite_ = precision_->unscale(gradients_of(parameters_));
    gradients_unscaled_ = true;
  }
  return gradients_finite_;
}

torch::Tensor Engine::gradient_norm() {
  finish_gradients();
  if (!norm_.defined()) {
    norm_ = total_norm(gradients_of(parameters_));
    if (ranks_) norm_ = ranks_->total_norm(norm_);
  }
  return norm_;
}

bool Engine::update(double lr_factor) {
  const bool finite = finish_gradients();
  if (finite) {
    const auto gradients = gradients_of(parameters_);
    if (options_.clip_norm) clip_to_norm(gradients, gradient_norm(), *options_.clip_norm);
    if (options_.clip_value) clip_to_value(gradients, *options_.clip_value);
    optimizer_->step(lr_factor);
    if (ranks_) ranks_->share_weights();
  }
  share_buffers();
  discard_gradients();
  return finite;
}

void Engine::share_buffers() {
  if (ranks_ && !options_.distributed.reproducible) ranks_->share_buffers();
}

void Engine::discard_gradients() {
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
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
  const auto scope = precision_->forward();
  return model_->forward(batch);
}

void Engine::pass(const Batch& batch) {
  torch::NoGradGuard no_grad;
  model_->train();
  const auto scope = precision_->forward();
  model_->forward(placed(batch));
}

State Engine::save() const {
  State state{.parts = {{"precision", precision_->save()}}};
  if (most_examples_) state.integers["micro_batch"] = *most_examples_;
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
  StateReader frozen(saved.part("frozen"));
  for (std::size_t i = 0; i < names_.size(); ++i)
    parameters_[i].set_requires_grad(!frozen.find_integer(names_[i]).has_value());
  frozen.finish();
  saved.finish();
}

SwappedWeights::SwappedWeights(Engine& engine, const std::map<std::string, torch::Tensor>& tensors) {
  const torch::NoGradGuard no_grad;
  const auto swap = [&](const NamedTensor& own, bool keep) {
    const auto other = tensors.find(own.name);
    if (keep || other != tensors.end()) kept_.emplace_back(own.tensor, own.tensor.clone());
    if (other != tensors.end()) torch::Tensor(own.tensor).copy_(other->second);
  };
  for (const NamedTensor& parameter : engine.weights().held_parameters()) swap(parameter, false);
  // A pass for batch-norm statistics changes every buffer it meets.
  for (const NamedTensor& buffer : engine.weights().held_buffers()) swap(buffer, true);
}

SwappedWeights::~SwappedWeights() {
  const torch::NoGradGuard no_grad;
  for (auto& [tensor, own] : kept_) tensor.copy_(own);
}

}  // namespace runner
