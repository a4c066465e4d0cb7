#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "components/contract/model_states.hpp"
#include "components/contract/precision_scope.hpp"
#include "components/datasets/dataset.hpp"
#include "components/models/model.hpp"
#include "components/trackers/tracker.hpp"
#include "registry/part_settings.hpp"
#include "runner/accelerator/batch_sources.hpp"
#include "runner/accelerator/prepared_loader.hpp"
#include "runner/accelerator/prepared_optimizer.hpp"
#include "runner/engine/options.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// A registered component with settings, as in a recipe: {"fp16", {{"init_scale", 1024}}}.
struct ComponentChoice {
  std::string name;
  PartSettings settings = {};
};

// States that are saved and loaded without a folder: `folder`/checkpoints/checkpoint_0, checkpoint_1 ..
struct ProjectOptions {
  std::filesystem::path folder = {};
  std::int64_t iteration = 0;                    // of the next state; load_state() sets it
  std::optional<std::int64_t> total_limit = {};  // so many states are kept, the newest ones
  bool save_on_each_machine = false;             // one rank of each machine saves, not only the main one
};

struct AcceleratorOptions {
  ComponentChoice precision = {"fp32"};  // or "bf16", "fp16", "fp8", or one from load_plugin()
  std::int64_t accumulation_steps = 1;   // micro-batches of one update
  std::string device = "auto";           // "cpu", "cuda", "cuda:1"; "auto": CUDA if there is a GPU
  bool device_placement = true;          // false: models and batches stay where they are
  MemoryFormat memory_format = MemoryFormat::automatic;  // automatic: contiguous
  std::uint64_t seed = 0;                                // of the order of the data
  LoaderSettings loaders = {};                 // of prepared loaders, unless they are given their own
  DistributedOptions distributed = {};         // what ranks keep and exchange: ddp, zero1 or zero2
  std::vector<ComponentChoice> trackers = {};  // in addition to metrics.jsonl
  ProjectOptions project = {};                 // where states are saved, if no folder is given
};

struct SplitLoaderOptions {
  std::int64_t batch_size = 64;  // of each rank; with split_batches of all ranks
  bool shuffle = false;
  int workers = 0;                             // background threads that read ahead
  bool drop_last = false;                      // the examples that do not fill a batch of every rank
  std::optional<LoaderSettings> loaders = {};  // default: those of the accelerator
};

class Trackers;

// What is logged here goes to all trackers, or to one of them; on the main rank only. It must not outlive its
// accelerator.
class TrackerLine {
 public:
  void log(const std::vector<std::pair<std::string, double>>& values, std::int64_t step);
  // Images of shape [channels, height, width] or several of them; bytes, or numbers from 0 to 1.
  void log_images(const std::vector<std::pair<std::string, torch::Tensor>>& images, std::int64_t step);
  void log_text(const std::vector<std::pair<std::string, std::string>>& texts, std::int64_t step);
  void log_artifact(const std::string& name, const std::filesystem::path& file);

 private:
  friend class Accelerator;
  TrackerLine() = default;
  TrackerLine(Trackers* trackers, std::string only, std::chrono::steady_clock::time_point since)
      : trackers_(trackers), only_(std::move(only)), since_(since) {}

  Trackers* trackers_ = nullptr;  // null on other ranks
  std::string only_;              // the name of a tracker; empty: all
  std::chrono::steady_clock::time_point since_;
};

struct LoadModelOptions {
  bool strict = true;  // every parameter and buffer is in the file, and nothing else
  // The name in the model for a name in the file, if they differ.
  std::function<std::string(const std::string&)> rename = {};
};

// For your own training loop: handles devices, precision, accumulation, ranks, checkpoints and trackers for
// plain LibTorch modules and optimizers. It uses the same engine as recipes.
//
//   Accelerator accelerator({.precision = {"bf16"}, .accumulation_steps = 4});
//   auto [net, optimizer, loader] = accelerator.prepare(model, sgd, std::move(data_loader));
//   for (auto& batch : loader) {
//     const auto accumulating = accelerator.accumulate();
//     torch::Tensor loss;
//     {
//       const auto autocast = accelerator.autocast();
//       loss = torch::cross_entropy_loss(net->forward(batch.data), batch.target);
//     }
//     accelerator.backward(loss);
//     optimizer.step();
//     optimizer.zero_grad();
//   }
//
// On several ranks every rank makes the same calls in the same order.
class Accelerator {
 public:
  // Joins the ranks that launch(), `torchrun`, `mpirun` or `srun` have started; otherwise a single process.
  explicit Accelerator(const AcceleratorOptions& options = {});
  // Uses the ranks of this world, which must outlive the accelerator.
  explicit Accelerator(World& world, const AcceleratorOptions& options = {});
  ~Accelerator();
  Accelerator(const Accelerator&) = delete;
  Accelerator& operator=(const Accelerator&) = delete;

  // --- preparing ---

  // Takes models (a module holder, or a shared pointer to a module), LibTorch optimizers and schedulers
  // (which must outlive this) and unique pointers to LibTorch data loaders, in any order. Returns the
  // prepared object, or a tuple of several. Models are returned unchanged: they are not wrapped.
  template <class... Parts>
  auto prepare(Parts&&... parts) {
    if constexpr (sizeof...(Parts) == 1) {
      return (prepare_one(std::forward<Parts>(parts)), ...);
    } else {
      return std::tuple{prepare_one(std::forward<Parts>(parts))...};
    }
  }
  // Saved as model.<name>.safetensors; without a name, the first is "model", the next "model.1".
  void prepare_model(std::shared_ptr<torch::nn::Module> model, const std::string& name = "");
  // For a LibTorch loader with settings of its own.
  template <class Loader>
  auto prepare_loader(std::unique_ptr<Loader> loader, const LoaderSettings& settings) {
    using Item = typename Loader::BatchType;
    static_assert(HasRows<Item>,
                  "a batch consists of tensors and of vectors with an entry for each example, or of maps and "
                  "structures of these: see runner/accelerator/batch_members.hpp");
    if constexpr (HasRows<Item>) {
      const bool every_rank_reads = !settings.dispatch_batches && !world().alone();
      return prepared_loader<Item>(std::make_unique<SharedBatches<Item>>(
          std::make_unique<TorchReader<Loader>>(std::move(loader), seed_of_next_loader(), every_rank_reads),
          world(), settings));
    }
  }
  // For batches from anywhere: the function begins a pass, for its number, and returns a function that gives
  // the next batch, or nothing at the end. Every rank gets the same batches from it and keeps its own; with
  // dispatch_batches it is called on rank 0 only.
  template <HasRows Item>
  PreparedLoader<Item> prepare_batches(MakePass<Item> make_pass,
                                       std::optional<LoaderSettings> settings = {}) {
    return prepared_loader<Item>(
        std::make_unique<SharedBatches<Item>>(std::make_unique<FunctionReader<Item>>(std::move(make_pass)),
                                              world(), settings.value_or(loader_settings())));
  }
  // For a runner optimizer and the parameters that it updates.
  PreparedOptimizer prepare_optimizer(std::unique_ptr<Optimizer> optimizer,
                                      std::vector<torch::Tensor> parameters);
  // For a runner dataset, which must outlive the loader: each rank reads only its own examples.
  PreparedLoader<Batch> prepare_split(const Split& split, const SplitLoaderOptions& options);
  // A learning rate that is a function of the step: the optimizer's learning rate * factor(step).
  PreparedScheduler prepare_schedule(const PreparedOptimizer& optimizer, PreparedScheduler::Factor factor);

  // --- runner components, as a recipe names them ---

  // One rank on each machine opens the dataset first, so that a download happens only once.
  Splits open_dataset(const ComponentChoice& dataset);
  std::shared_ptr<Model> build_model(const ComponentChoice& model, const DataSpec& data);
  // For the parameters of all prepared models, or of one of them.
  PreparedOptimizer build_optimizer(const ComponentChoice& optimizer);
  PreparedOptimizer build_optimizer(const ComponentChoice& optimizer, const torch::nn::Module& model);

  // --- a step ---

  // Exists for one micro-batch. At the end of a loader fewer than `accumulation_steps` micro-batches may be
  // left; gradients are the mean over those, and over the ranks.
  class Accumulation {
   public:
    ~Accumulation();
    Accumulation(const Accumulation&) = delete;
    Accumulation& operator=(const Accumulation&) = delete;

   private:
    friend class Accelerator;
    explicit Accumulation(Accelerator& accelerator);
    Accelerator& accelerator_;
  };
  [[nodiscard]] Accumulation accumulate();
  // The same for losses that are sums: gradients are divided by the sum of `weight` over the ranks. `weight`
  // is for this rank's whole window, such as its number of tokens; only the first one of a window counts.
  [[nodiscard]] Accumulation accumulate(double weight);

  // While one exists, backward() does not exchange gradients (no_sync), or does so in any case
  // (trigger_sync_in_backward). The first backward() after no_sync() exchanges all of them.
  class SyncScope {
   public:
    ~SyncScope();
    SyncScope(const SyncScope&) = delete;
    SyncScope& operator=(const SyncScope&) = delete;

   private:
    friend class Accelerator;
    SyncScope(Accelerator& accelerator, bool now);
    Accelerator& accelerator_;
    int before_;
  };
  [[nodiscard]] SyncScope no_sync() { return {*this, false}; }
  [[nodiscard]] SyncScope trigger_sync_in_backward() { return {*this, true}; }

  // Around forward and loss. `enabled` = false, within such a scope: full precision again.
  [[nodiscard]] std::unique_ptr<PrecisionScope> autocast(bool enabled = true);
  // In a pass over a prepared loader the loss is the mean over the rows of the batch: if the ranks have
  // different numbers of examples, it is weighted by them, and a repeated row does not count.
  void backward(const torch::Tensor& loss, bool keep_graph = false);
  bool sync_gradients() const;  // the current micro-batch is the last before an update

  // Clips complete gradients by their norm of this order, which may be infinity. While they are being
  // accumulated nothing happens, and the norm is undefined.
  torch::Tensor clip_grad_norm_(const std::vector<torch::Tensor>& parameters, double max_norm,
                                double norm_type = 2);
  void clip_grad_value_(const std::vector<torch::Tensor>& parameters, double max_value);

  // --- ranks ---

  World& world() const;
  const torch::Device& device() const;
  int process_index() const { return world().rank(); }
  int num_processes() const { return world().size(); }
  bool is_main_process() const { return world().is_main(); }
  bool is_local_main_process() const { return world().local_rank() == 0; }
  bool is_last_process() const { return world().rank() == world().size() - 1; }
  int local_process_index() const { return world().local_rank(); }
  void wait_for_everyone() { world().barrier("wait_for_everyone"); }

  // While one exists, this is a part of the program that the main rank runs first, and the others after it:
  //   const auto main_first = accelerator.main_process_first();
  class Turn {
   public:
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    friend class Accelerator;
    Turn(World& world, bool first);
    World& world_;
    const bool first_;
    const int exceptions_;
  };
  [[nodiscard]] Turn main_process_first() { return {world(), is_main_process()}; }
  [[nodiscard]] Turn local_main_process_first() { return {world(), is_local_main_process()}; }

  // Calls the function on this rank alone.
  template <class Function>
  void on_main_process(Function&& function) const {
    if (is_main_process()) std::forward<Function>(function)();
  }
  template <class Function>
  void on_local_main_process(Function&& function) const {
    if (is_local_main_process()) std::forward<Function>(function)();
  }
  template <class Function>
  void on_last_process(Function&& function) const {
    if (is_last_process()) std::forward<Function>(function)();
  }
  template <class Function>
  void on_process(int rank, Function&& function) const {
    if (process_index() == rank) std::forward<Function>(function)();
  }
  template <class Function>
  void on_local_process(int local_rank, Function&& function) const {
    if (local_process_index() == local_rank) std::forward<Function>(function)();
  }

  // This rank's part of a list, a tensor or a batch; the parts differ by one row at most, and those of the
  // first ranks are longer. With padding the last row is repeated until all have equally many.
  template <HasRows Item>
  Item split_between_processes(const Item& all, bool apply_padding = false) const {
    return take_rows(all, rows_of_part(rows_of(all), apply_padding));
  }

  // A flag that any rank may set. check_trigger(), which every rank calls, says whether one has, and resets
  // it.
  void set_trigger();
  bool check_trigger();

  void synchronize_rng_states();  // every rank gets LibTorch's random generators of rank 0

  // Concatenates the tensors of all ranks, on every rank. A scalar becomes a vector.
  torch::Tensor gather(const torch::Tensor& tensor);
  // Of a batch: each of its tensors and lists.
  template <HasRows Item>
    requires(!std::is_same_v<Item, torch::Tensor> && Sendable<Item>)
  Item gather(const Item& item) {
    return joined_rows(objects_of_ranks(item, "gather"));
  }
  // The objects of all ranks; lists are concatenated.
  template <Sendable T>
  std::vector<T> gather_object(const T& object) {
    return objects_of_ranks(object, "gather_object");
  }
  template <Sendable T>
  std::vector<T> gather_object(const std::vector<T>& objects) {
    return joined_rows(objects_of_ranks(objects, "gather_object"));
  }
  template <Sendable T>
  T broadcast_object(const T& object, int source_rank = 0) {
    return from_bytes<T>(broadcast_bytes(to_bytes(object), source_rank), "broadcast_object", source_rank);
  }
  // The same during a pass over a prepared loader, without the examples that were repeated at its end: every
  // example exactly once, in the order of the loader. For one tensor, or several, returned as a tuple.
  torch::Tensor gather_for_metrics(const torch::Tensor& tensor);
  template <class... Tensors>
    requires(sizeof...(Tensors) > 1)
  auto gather_for_metrics(const Tensors&... tensors) {
    return std::tuple{gather_for_metrics(static_cast<const torch::Tensor&>(tensors))...};
  }
  // The same for lists with an entry for each example.
  template <Sendable T>
  std::vector<T> gather_for_metrics(const std::vector<T>& entries) {
    std::vector<T> all = joined_rows(objects_of_ranks(entries, "gather_for_metrics"));
    const auto counted = counted_rows(static_cast<std::int64_t>(all.size()));
    return counted ? take_rows(std::move(all), *counted) : all;
  }
  enum class Reduce { sum, mean, min, max };
  torch::Tensor reduce(const torch::Tensor& tensor, Reduce how = Reduce::mean);
  // reduce and broadcast: tensors of equal shape on all ranks.
  torch::Tensor broadcast(const torch::Tensor& tensor, int source_rank = 0);
  // Pads the tensor to the largest size of any rank in this dimension; -1 is the last dimension.
  torch::Tensor pad_across_processes(const torch::Tensor& tensor, std::int64_t dimension = 0,
                                     double value = 0, bool first = false);
  // On the main rank only.
  template <class... Values>
  void print(const Values&... values) const {
    if (!is_main_process()) return;
    (std::cout << ... << values) << std::endl;
  }

  // --- saving ---

  // Returns the model itself: prepared models are not wrapped.
  template <class Module>
  const Module& unwrap(const Module& module) const {
    return module;  // NOLINT(bugprone-return-const-ref-from-parameter): a temporary is refused
  }
  template <class Module>
  const Module& unwrap(const Module&& module) const = delete;
  // Writes model.safetensors, or several files with an index.
  void save_model(const torch::nn::Module& model, const std::filesystem::path& folder,
                  std::int64_t max_shard_bytes = std::int64_t{5} << 30);
  // Fills a model from safetensors or torch.save, also from a folder or an index of several files. Prefixes
  // that wrappers add to all names (module., model., _orig_mod.) are removed. Returns a line for the log.
  std::string load_model(torch::nn::Module& model, const std::filesystem::path& file,
                         const LoadModelOptions& options = {});
  // Drops everything that was prepared, and memory that LibTorch keeps for later.
  void free_memory();

  // Saves all prepared and registered objects, the precision and the random generators of every rank, as a
  // checkpoint like those of recipes. The folder may hold other files, which stay; a checkpoint in it is
  // replaced, so that at any moment either the old or the new one is there. Loading is strict: missing or
  // extra state is an error. Without a folder: the next one, or the newest, of options.project.
  void save_state(const std::filesystem::path& folder);
  std::filesystem::path save_state();
  void load_state(const std::filesystem::path& folder);
  std::filesystem::path load_state();
  // Whether save_state() has written into this folder. Throws if its manifest cannot be read.
  bool has_state(const std::filesystem::path& folder);
  bool has_state();
  void register_for_checkpointing(const std::string& name, Stateful& object);  // which must outlive this
  // Hooks for saving run on the main rank, hooks for loading on every rank.
  void register_save_state_pre_hook(ModelStatesHook hook);
  void register_load_state_pre_hook(ModelStatesHook hook);

  // A loader whose next pass skips this many batches. After load_state(), pass loader.position().
  template <class Item>
  PreparedLoader<Item> skip_first_batches(const PreparedLoader<Item>& loader, std::int64_t batches) const {
    return loader.after(batches);
  }

  // --- tracking ---

  // Trackers write to the folder, or to servers under the name of the run; metrics.jsonl is always written.
  // After load_state(), give the step of log() that was reached: what was logged after it is dropped.
  void init_trackers(const std::string& run_name, const std::filesystem::path& folder,
                     std::vector<std::pair<std::string, Setting>> settings = {},
                     std::optional<std::int64_t> resumed_at = {});
  void log(const std::vector<std::pair<std::string, double>>& values, std::int64_t step);
  void log_images(const std::vector<std::pair<std::string, torch::Tensor>>& images, std::int64_t step);
  void log_text(const std::vector<std::pair<std::string, std::string>>& texts, std::int64_t step);
  void log_artifact(const std::string& name, const std::filesystem::path& file);
  TrackerLine get_tracker(const std::string& name);  // one of them: "metrics.jsonl" is "jsonl"
  void end_training();                               // waits until trackers have written everything

 private:
  template <class Part>
  auto prepare_one(Part&& part) {
    using Plain = std::remove_cvref_t<Part>;
    if constexpr (std::is_base_of_v<torch::optim::Optimizer, Plain>) {
      static_assert(std::is_lvalue_reference_v<Part>, "the optimizer must outlive the accelerator: name it");
      return prepare_torch_optimizer(part);
    } else if constexpr (std::is_base_of_v<torch::optim::LRScheduler, Plain>) {
      static_assert(std::is_lvalue_reference_v<Part>, "the scheduler must outlive the accelerator: name it");
      return prepare_torch_scheduler(part);
    } else if constexpr (requires { typename Plain::element_type::BatchType; }) {
      return prepare_loader(std::forward<Part>(part), loader_settings());
    } else if constexpr (requires { std::shared_ptr<torch::nn::Module>(part.ptr()); }) {
      prepare_model(part.ptr());
      return part;
    } else {
      static_assert(std::is_convertible_v<Plain, std::shared_ptr<torch::nn::Module>>,
                    "prepare() takes modules, LibTorch optimizers and schedulers, and unique pointers to "
                    "loaders; a runner optimizer is for prepare_optimizer()");
      prepare_model(part);
      return part;
    }
  }
  PreparedOptimizer prepare_torch_optimizer(torch::optim::Optimizer& optimizer);
  PreparedOptimizer build_optimizer_for(const ComponentChoice& optimizer, const torch::nn::Module* only);
  PreparedScheduler prepare_torch_scheduler(torch::optim::LRScheduler& scheduler);
  template <class Item>
  PreparedLoader<Item> prepared_loader(std::unique_ptr<BatchSource<Item>> source) {
    auto shared =
        std::make_shared<typename PreparedLoader<Item>::Shared>(std::move(source), &passes(), placement());
    shared->place.ranks = shared->source->batches_at_once();
    add_loader(std::shared_ptr<Stateful>(shared, &shared->place));
    return PreparedLoader<Item>(std::move(shared));
  }
  TrackerLine line_to(const std::string& only, const char* call);
  const LoaderSettings& loader_settings() const;
  Rows rows_of_part(std::int64_t rows, bool apply_padding) const;
  // Of the rows that all ranks have gathered; none: all of them count.
  std::optional<Rows> counted_rows(std::int64_t gathered) const;
  std::vector<std::string> gather_bytes(const std::string& bytes, const char* call);
  std::string broadcast_bytes(const std::string& bytes, int source_rank);
  template <class T>
  std::vector<T> objects_of_ranks(const T& object, const char* call) {
    std::vector<T> objects;
    int rank = 0;
    for (const std::string& bytes : gather_bytes(to_bytes(object), call))
      objects.push_back(from_bytes<T>(bytes, call, rank++));
    return objects;
  }
  std::uint64_t seed_of_next_loader() const;
  LoaderPasses& passes();
  std::int64_t micro_batches_of_window();
  std::optional<torch::Device> placement() const;
  void add_loader(std::shared_ptr<Stateful> place);

  struct Impl;
  struct AllState;
  std::unique_ptr<Impl> impl_;
};

}  // namespace runner
