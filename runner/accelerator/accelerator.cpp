#include "runner/accelerator/accelerator.hpp"

#include <ATen/autocast_mode.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <stdexcept>

#include "components/torch/shape_text.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/make_part.hpp"
#include "runner/accelerator/accelerator_impl.hpp"
#include "runner/accelerator/split_batches.hpp"
#include "runner/accelerator/torch_optimizer.hpp"
#include "runner/engine/gradients.hpp"
#include "runner/engine/runtime/device.hpp"
#include "runner/engine/runtime/process.hpp"
#include "runner/ranks/join.hpp"

namespace runner {

namespace {

EngineOptions engine_options(const AcceleratorOptions& options, const Registry& registry) {
  if (options.accumulation_steps < 1) throw std::invalid_argument("accumulation_steps must be at least 1");
  const RankStrategy strategy = options.distributed.strategy;
  if ((strategy != RankStrategy::ddp && strategy != RankStrategy::zero1 && strategy != RankStrategy::zero2) ||
      options.distributed.reproducible || options.distributed.sync_batch_norm)
    throw std::invalid_argument(
        "Accelerator supports distributed.strategy = ddp, zero1 and zero2, without reproducible and "
        "sync_batch_norm; use a recipe for the others.");
  if (options.distributed.batch != BatchOf::rank)
    throw std::invalid_argument(
        "distributed.batch has no effect here: batch sizes are those of your loaders.");
  require_valid(options.distributed, registry);
  EngineOptions engine;
  engine.device = options.device;
  engine.device_placement = options.device_placement;
  engine.memory_format = options.memory_format;
  engine.precision = [&](const PrecisionInputs& inputs) {
    return make_part<PrecisionKind>(registry, options.precision.name, options.precision.settings)
        .build(inputs);
  };
  engine.distributed = options.distributed;
  return engine;
}

constexpr const char* unknown_parameter =
    "An optimizer updates a parameter that belongs to no prepared model: prepare() its model, too.";

// The ranks of a given world are connected already.
const AcceleratorOptions& without_connections(const AcceleratorOptions& options) {
  const DistributedOptions &wanted = options.distributed, defaults;
  if (wanted.timeout != defaults.timeout || wanted.backend != defaults.backend ||
      wanted.check_collectives != defaults.check_collectives)
    throw std::invalid_argument(
        "distributed.timeout, backend and check_collectives have no effect on ranks that are connected "
        "already: give them to launch().");
  return options;
}

// Call this before anything is computed.
std::unique_ptr<World> join_by_environment(const AcceleratorOptions& options) {
  warn_and_steer_around_broken_instructions();
  const auto member = membership(process_environment());
  auto world = join_world(
      member, member ? join_options(options.distributed, options.device, member->place) : JoinOptions{});
  if (!world->alone()) apply(ProcessSettings{.local_ranks = world->local_size()});
  return world;
}

}  // namespace

void require_valid(const DistributedOptions& options, const Registry& registry) {
  Diagnostics diagnostics;
  conform(encode_table(options), schema_of<DistributedOptions>(), registry, diagnostics);
  if (!diagnostics.ok()) throw std::invalid_argument("distributed: " + render(diagnostics));
}

Accelerator::Impl::Impl(std::unique_ptr<World> own, World& world_, const AcceleratorOptions& options_)
    : own_world(std::move(own)),
      world(world_),
      options(options_),
      registry(Registry::of_linked()),
      engine(engine_options(options, registry), world),
      window(engine),
      iteration(options.project.iteration) {
  show_no_stack_frames();
}

std::vector<NamedTensor> Accelerator::Impl::named(const std::vector<torch::Tensor>& parameters) const {
  std::set<const void*> all_wanted;
  for (const torch::Tensor& parameter : parameters) all_wanted.insert(parameter.unsafeGetTensorImpl());
  const auto with_prefixes = [&](bool all) {
    std::set<const void*> wanted = all_wanted;
    std::vector<NamedTensor> found;
    for (const auto& model : models) {
      const std::string prefix = all || model->name != "model" ? model->prefix() : "";
      for (const auto& item : model->module->named_parameters()) {
        if (wanted.erase(item.value().unsafeGetTensorImpl()) > 0)
          found.push_back({prefix + item.key(), item.value()});
      }
    }
    return found;
  };
  std::vector<NamedTensor> found = with_prefixes(false);
  std::set<std::string> names;
  for (const NamedTensor& one : found) names.insert(one.name);
  return names.size() == found.size() ? found : with_prefixes(true);
}

std::set<const torch::TensorImpl*> Accelerator::Impl::foreign_parameters() const {
  std::set<const torch::TensorImpl*> foreign;
  if (!engine.updates_a_part()) return foreign;
  for (const auto& [name, parameter] : engine.weights().held_parameters())
    if (!engine.updates(name)) foreign.insert(parameter.unsafeGetTensorImpl());
  return foreign;
}

void Accelerator::Impl::require_known_parameters() {
  std::set<const void*> known;
  for (const auto& model : models) {
    for (const torch::Tensor& parameter : model->module->parameters())
      known.insert(parameter.unsafeGetTensorImpl());
  }
  for (; checked_optimizers < optimizers.size(); ++checked_optimizers) {
    for (const torch::Tensor& parameter : optimizers[checked_optimizers]->parameters)
      if (!known.contains(parameter.unsafeGetTensorImpl())) throw std::logic_error(unknown_parameter);
  }
}

Accelerator::Accelerator(const AcceleratorOptions& options) {
  std::unique_ptr<World> own = join_by_environment(options);
  World& world = *own;
  impl_ = std::make_unique<Impl>(std::move(own), world, options);
}

Accelerator::Accelerator(World& world, const AcceleratorOptions& options)
    : impl_(std::make_unique<Impl>(nullptr, world, without_connections(options))) {}

Accelerator::~Accelerator() {
  if (!impl_->own_world) return;
  try {
    // Tells the other ranks that this rank failed, rather than letting it vanish. Otherwise waits for them,
    // because they may need rank 0 to find each other.
    if (std::uncaught_exceptions() > impl_->exceptions_before)
      impl_->world.failed(std::runtime_error("an exception ended the training"));
    else
      impl_->world.barrier("the end of the training");
  } catch (const std::exception& error) {
    log::error("{}", error.what());
  }
}

World& Accelerator::world() const { return impl_->world; }
const torch::Device& Accelerator::device() const { return impl_->engine.device(); }

void Accelerator::prepare_model(std::shared_ptr<torch::nn::Module> model, const std::string& name) {
  if (name.find_first_of("./") != std::string::npos)
    throw std::invalid_argument("The name of a model, " + in_quotes(name) +
                                ", cannot hold a dot or a slash.");
  auto& models = impl_->models;
  if (std::ranges::any_of(models, [&](const auto& other) { return other->module == model; }))
    throw std::invalid_argument("A model was prepared twice.");
  const std::string key = !name.empty() ? name : models.empty() ? "model" : std::to_string(models.size());
  if (impl_->all_models->named_children().contains(key))
    throw std::invalid_argument("Another model is called " + in_quotes(key) + " already.");
  impl_->all_models->register_module(key, model);
  impl_->engine.prepare_module(impl_->all_models);
  models.push_back(std::make_unique<Impl::PreparedModel>(key == "model" ? key : "model." + key, model,
                                                         ModelWeights(*model)));
  impl_->window.watch();
}

PreparedOptimizer Accelerator::prepare_torch_optimizer(torch::optim::Optimizer& optimizer) {
  if (!impl_->torch_optimizers.insert(&optimizer).second)
    throw std::invalid_argument("An optimizer was prepared twice.");
  const auto names_of = [impl = impl_.get()](const std::vector<torch::Tensor>& parameters) {
    TorchOptimizer::Names names;
    for (const auto& [name, tensor] : impl->named(parameters))
      names.emplace(tensor.unsafeGetTensorImpl(), name);
    for (const torch::Tensor& parameter : parameters)
      if (!names.contains(parameter.unsafeGetTensorImpl())) throw std::logic_error(unknown_parameter);
    return names;
  };
  return prepare_optimizer(std::make_unique<TorchOptimizer>(optimizer, names_of), parameters_of(optimizer));
}

PreparedOptimizer Accelerator::prepare_optimizer(std::unique_ptr<Optimizer> optimizer,
                                                 std::vector<torch::Tensor> parameters) {
  impl_->optimizers.push_back(std::make_shared<PreparedOptimizer::Shared>(
      impl_->engine, impl_->window, std::move(optimizer), std::move(parameters)));
  impl_->optimizers.back()->foreign = [impl = impl_.get()] { return impl->foreign_parameters(); };
  return PreparedOptimizer(impl_->optimizers.back());
}

PreparedScheduler Accelerator::prepare_torch_scheduler(torch::optim::LRScheduler& scheduler) {
  const auto skipped = [impl = impl_.get()] {
    return std::ranges::any_of(impl->optimizers, [](const auto& optimizer) { return optimizer->skipped; });
  };
  if (std::ranges::any_of(impl_->schedulers,
                          [&](const auto& other) { return other->of_torch == &scheduler; }))
    throw std::invalid_argument("A scheduler was prepared twice.");
  impl_->schedulers.push_back(std::make_shared<PreparedScheduler::Shared>(impl_->window, skipped));
  impl_->schedulers.back()->of_torch = &scheduler;
  return PreparedScheduler(impl_->schedulers.back());
}

PreparedScheduler Accelerator::prepare_schedule(const PreparedOptimizer& optimizer,
                                                PreparedScheduler::Factor factor) {
  PreparedOptimizer::Shared* of = optimizer.shared_.get();
  auto shared = std::make_shared<PreparedScheduler::Shared>(impl_->window, [of] { return of->skipped; });
  shared->optimizer = of;
  shared->factor = std::move(factor);
  shared->apply();
  impl_->schedulers.push_back(shared);
  return PreparedScheduler(std::move(shared));
}

PreparedLoader<Batch> Accelerator::prepare_split(const Split& split, const SplitLoaderOptions& options) {
  if (options.batch_size < 1) throw std::invalid_argument("batch_size must be at least 1");
  const LoaderSettings settings = options.loaders.value_or(loader_settings());
  if (settings.dispatch_batches)
    throw std::invalid_argument(
        "dispatch_batches has no effect on a runner dataset: each rank reads only its own examples.");
  const std::int64_t at_once = settings.split_batches ? 1 : world().size();
  LoaderOptions loading;
  loading.batch_size = options.batch_size * at_once;
  loading.shuffle = options.shuffle;
  loading.workers = options.workers;
  loading.seed = seed_of_next_loader();
  loading.format = impl_->engine.layout();
  loading.pinned = copies_from_pinned(device());
  const RowShare share{world().rank(), world().size(), settings.even_batches};
  return prepared_loader<Batch>(
      std::make_unique<SplitBatches>(split, loading, share, at_once, options.drop_last));
}

const LoaderSettings& Accelerator::loader_settings() const { return impl_->options.loaders; }
std::uint64_t Accelerator::seed_of_next_loader() const { return impl_->options.seed + impl_->loaders.size(); }
LoaderPasses& Accelerator::passes() { return impl_->passes; }
std::optional<torch::Device> Accelerator::placement() const {
  return impl_->options.device_placement ? std::optional(device()) : std::nullopt;
}
void Accelerator::add_loader(std::shared_ptr<Stateful> place) { impl_->loaders.push_back(std::move(place)); }

Accelerator::Accumulation::Accumulation(Accelerator& accelerator) : accelerator_(accelerator) {
  accelerator_.impl_->accumulating = true;
}
Accelerator::Accumulation::~Accumulation() { accelerator_.impl_->accumulating = false; }

Accelerator::Accumulation Accelerator::accumulate() {
  const std::int64_t count = micro_batches_of_window();
  impl_->window.next_micro_batch(count, static_cast<double>(count));
  impl_->sums = false;
  return Accumulation(*this);
}

Accelerator::Accumulation Accelerator::accumulate(double weight) {
  if (!std::isfinite(weight) || weight < 0)
    throw std::invalid_argument("accumulate() needs a weight of at least 0, not " + std::to_string(weight) +
                                ".");
  impl_->window.next_micro_batch(micro_batches_of_window(), weight);
  impl_->sums = true;
  return Accumulation(*this);
}

// The result is used only at the start of a window; only then is the loader asked how many batches are left.
std::int64_t Accelerator::micro_batches_of_window() {
  const std::int64_t most = impl_->options.accumulation_steps;
  if (impl_->passes.empty() || !impl_->window.between_updates()) return most;
  return 1 + impl_->passes.back()->look_ahead(most - 1);
}

namespace {

struct FullPrecision final : PrecisionScope {
  explicit FullPrecision(torch::DeviceType device_)
      : device(device_), before(at::autocast::is_autocast_enabled(device)) {
    at::autocast::set_autocast_enabled(device, false);
  }
  ~FullPrecision() override { at::autocast::set_autocast_enabled(device, before); }

  const torch::DeviceType device;
  const bool before;
};

// Of the norms of gradients that are divided among ranks.
torch::Tensor norm_over_ranks(World& world, const torch::Tensor& own, double order) {
  const torch::Tensor norm = (std::isinf(order) ? own : own.pow(order)).reshape({1}).clone();
  world.all_reduce(norm, std::isinf(order) ? Reduction::max : Reduction::sum, "the norm of the gradients");
  return (std::isinf(order) ? norm : norm.pow(1 / order)).reshape({});
}

double weight_of_batch(const LoaderPasses& passes, bool sums) {
  if (passes.empty()) return 1;
  const BatchFacts& batch = passes.back()->facts();
  if (sums) return batch.own == 0 ? 0 : 1;
  return batch.weight;
}

}  // namespace

std::unique_ptr<PrecisionScope> Accelerator::autocast(bool enabled) {
  if (enabled) return impl_->engine.autocast();
  return std::make_unique<FullPrecision>(device().type());
}

Accelerator::SyncScope::SyncScope(Accelerator& accelerator, bool now)
    : accelerator_(accelerator),
      before_(static_cast<int>(accelerator.impl_->window.set_sync(now ? GradientWindow::Sync::now
                                                                      : GradientWindow::Sync::hold))) {}
Accelerator::SyncScope::~SyncScope() {
  accelerator_.impl_->window.set_sync(static_cast<GradientWindow::Sync>(before_));
}

void Accelerator::backward(const torch::Tensor& loss, bool keep_graph) {
  if (impl_->models.empty()) throw std::logic_error("backward() needs a model: prepare() it first.");
  if (loss.numel() != 1)
    throw std::invalid_argument(
        "backward() needs a loss that is one number, such as the mean, not a tensor of shape " +
        shape_text(loss.sizes()) + ".");
  if (impl_->checked_optimizers < impl_->optimizers.size()) impl_->require_known_parameters();
  if (!impl_->accumulating) {
    if (impl_->options.accumulation_steps > 1)
      throw std::logic_error("accumulation_steps is above 1: call backward() within accumulate().");
    impl_->window.next_micro_batch(1, 1);
    impl_->sums = false;
  }
  const double weight = weight_of_batch(impl_->passes, impl_->sums);
  impl_->window.backward(weight == 1 ? loss : loss * weight, keep_graph);
}

bool Accelerator::sync_gradients() const { return impl_->window.last(); }

torch::Tensor Accelerator::clip_grad_norm_(const std::vector<torch::Tensor>& parameters, double max_norm,
                                           double norm_type) {
  if (!impl_->window.ready()) return {};
  const torch::NoGradGuard no_grad;
  const auto gradients = gradients_of(parameters);
  torch::Tensor norm = total_norm(gradients, norm_type);
  if (impl_->options.distributed.strategy == RankStrategy::zero2 && !world().alone())
    norm = norm_over_ranks(world(), norm.to(device(), torch::kDouble), norm_type).to(torch::kFloat);
  if (!gradients.empty()) clip_to_norm(gradients, norm, max_norm);
  return norm;
}

void Accelerator::clip_grad_value_(const std::vector<torch::Tensor>& parameters, double max_value) {
  if (!impl_->window.ready()) return;
  const torch::NoGradGuard no_grad;
  const auto gradients = gradients_of(parameters);
  if (!gradients.empty()) clip_to_value(gradients, max_value);
}

}  // namespace runner
