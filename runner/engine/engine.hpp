#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "components/contract/requests.hpp"
#include "components/contract/weights.hpp"
#include "components/losses/loss.hpp"
#include "components/models/model.hpp"
#include "components/models/weights/model_weights.hpp"
#include "components/optimizers/optimizer.hpp"
#include "runner/engine/options.hpp"
#include "runner/engine/runtime/device_copies.hpp"
#include "runner/engine/runtime/saved_tensors.hpp"
#include "runner/engine/runtime/time_ledger.hpp"
#include "runner/engine/strategies/rank_sync.hpp"
#include "runner/engine/window.hpp"
#include "runner/engine/world.hpp"

namespace runner {

class GraphedPasses;
class LocalAverage;
class OwnedGradients;
class ShardOffload;
class SyncBatchNorm;

// Makes the optimizer for the parameters that this rank updates.
using OptimizerFactory =
    std::function<std::unique_ptr<Optimizer>(const torch::OrderedDict<std::string, torch::Tensor>&)>;

// Handles devices, precision, accumulation, clipping and ranks, so that nothing else has to. It owns the
// model and the optimizer that it prepares. One update is
//
//   const WindowLoss loss = engine.accumulate(window, criterion);   // gradients of the mean over the window
//   engine.update(lr_factor);
//
// or, for a loop that handles the micro-batches itself,
//
//   engine.begin_window(weight_of_all_micro_batches, number_of_micro_batches);
//   for (const Batch& batch : batches) engine.backward(criterion.sum(engine.forward(batch), batch));
//   engine.update(lr_factor);
//
// For a module that does not take a Batch, or for another optimizer, use Accelerator
// (runner/accelerator/accelerator.hpp), which calls prepare_module().
class Engine final : public Stateful {
 public:
  Engine(const EngineOptions& options, World& world);
  Engine(Engine&& other) noexcept;
  ~Engine() override;

  const torch::Device& device() const { return device_; }
  const Precision& precision() const { return *precision_; }
  torch::MemoryFormat layout() const { return layout_; }  // of images, once a model is prepared
  World& world() const { return *world_; }
  TimeLedger& times() const { return *times_; }

  // Moves the model to the device, in its memory layout and precision, and makes the optimizer if a factory
  // is given. `values`: with zero3 the initial weights may come from outside the model, so that no rank needs
  // memory for the whole model.
  void prepare(std::shared_ptr<Model> model, const OptimizerFactory& make_optimizer = {},
               ParameterValues values = {});
  // For a caller that runs forward and the optimizer itself. A second call replaces the first module, which
  // may be a submodule of the new one.
  void prepare_module(std::shared_ptr<torch::nn::Module> module);
  Model& model() const { return *model_; }  // for its structure; use weights() to access its weights
  struct ParameterCounts {
    std::int64_t total = 0, trained = 0;
  };
  ParameterCounts parameter_counts() const;  // of the whole model
  Optimizer& optimizer() const { return *optimizer_; }
  bool updates(const std::string& parameter) const { return !ranks_ || ranks_->updates(parameter); }

  // The weights that this rank holds, read-only. swap_weights() changes them.
  const Weights& weights() const;
  // Gives the weights with these names other values while the returned object exists. Buffers are always
  // restored afterwards, so without values this undoes what forward passes change.
  [[nodiscard]] SwappedWeights swap_weights(const std::map<std::string, torch::Tensor>& values = {}) {
    return {weights(), values};
  }
  // All weights for saving: whole parameters, then buffers. Every rank calls it; with zero3 only rank 0 gets
  // them, in memory or, if a folder is given, in a temporary file in it.
  std::vector<NamedTensor> full_weights(const std::filesystem::path& folder = {}) const;
  // The weights as a checkpoint saves them. `on_one_rank`: rank 0 saves all of them.
  Stateful& weights_state(bool on_one_rank = false) const;
  // Wraps state that is kept for the weights of this rank, such as their average, in the form that a
  // checkpoint saves: whole tensors. Lives as long as the engine.
  Stateful& as_whole(Stateful& held);
  // What the compression of gradients keeps from update to update; null without it.
  Stateful* compression() const { return ranks_ ? ranks_->compression() : nullptr; }

  // The states of which every rank saves a part: each tensor is saved, whole, by one rank. Rank 0 saves the
  // other states.
  using NamedStates = std::vector<std::pair<std::string, Stateful*>>;
  std::set<std::string> sharded_states(const NamedStates& states) const;
  // Whether this rank updates only some of the parameters.
  bool updates_a_part() const { return ranks_ && ranks_->sharded_update(); }

  // Freezes or unfreezes parameters. Those that were frozen when the model was prepared stay frozen. Throws
  // if no parameter is left to train.
  void set_trainable(const std::vector<Trainability>& changes);
  void train_all();  // hooks that want parameters frozen have to ask again

  // Computes gradients of the mean loss over the whole window, for micro-batches of any size. If memory runs
  // out and the options allow it, starts again with smaller micro-batches, and keeps using these.
  WindowLoss accumulate(const Window& window, const Loss& loss);

  void begin_window(double weight, std::int64_t micro_batches);
  std::unique_ptr<PrecisionScope> autocast() { return precision_->forward(); }  // if the caller runs forward
  torch::Tensor forward(const Batch& batch);     // in training mode; copies the batch to the device
  void backward(const torch::Tensor& loss_sum);  // ranks exchange gradients in the last one of a window
  // The same for a caller that counts micro-batches. keep_graph: the autograd graph is needed again.
  void backward(const torch::Tensor& loss_sum, bool last, bool keep_graph = false);
  // Finishes the exchange of gradients and unscales them. False: some are not finite. update() calls it.
  bool complete_gradients();

  // The norm of the gradients before clipping; the tensor stays on the device.
  torch::Tensor gradient_norm();

  // Clips, updates and clears the gradients. False: a gradient was not finite, and nothing was updated.
  bool update(double lr_factor);
  void skip_update();        // instead of update(), on every rank
  void discard_gradients();  // after a pass that failed

  // Gets the weights that other ranks have updated. update() calls it; call it after the step of any other
  // optimizer.
  void share_weights();
  // Copies the buffers of rank 0 to all ranks. update() calls it.
  void share_buffers();

  // With strategy = "local_sgd" the weights of the ranks differ between two averages. Call average_weights()
  // before an evaluation and before saving. Every rank takes part.
  bool ranks_are_equal() const;
  void average_weights();

  // Output without gradients, in evaluation mode. Moves the batch to the device of the output.
  torch::Tensor predict(Batch& batch);
  // A forward pass without gradients in training mode, which updates batch-norm statistics. With
  // sync_batch_norm every rank calls it for each batch, even for one of which it has no examples.
  void pass(const Batch& batch);
  // Every rank calls it after its last predict() or pass(), even if it had none, and before ranks exchange
  // anything else: if each rank holds a part of the weights, ranks need each other until then.
  void finish_passes();
  // Sets the running mean and variance of every batch-norm layer to the average over the passes that the
  // function makes, with the current weights. Does not call it if the model has no such layer.
  void average_batch_statistics(const std::function<void()>& make_passes);

  // The precision's state, which parameters are frozen, the size of micro-batches that fits, and the weight
  // of an example.
  State save() const override;
  void load(const State& state) override;

 private:
  WindowLoss accumulate_once(const Window& window, const Loss& loss);
  WindowLoss accumulate_in_shards(const Window& window, const Loss& loss);
  torch::Tensor loss_sum_of(const Batch& batch, const Loss& loss);  // forward, under the precision
  void pass_for_others(const torch::Tensor& loss_sum);
  void make_micro_batches_smaller(const Window& window, const std::string& why);
  void use_smallest_micro_batches();  // of all ranks
  Batch placed(const Batch& batch) const;
  Sharding* sharding() const { return ranks_ ? ranks_->sharding() : nullptr; }
  void set_trained(std::size_t parameter, bool trained);
  void exchange_gradients();
  std::int64_t parts_of(std::int64_t size) const;  // passes over a micro-batch of this many examples
  // Precisions such as fp8 keep measurements of the examples that this rank has seen. Ranks take those of
  // rank 0, as they do with buffers: a checkpoint holds no others.
  void share_precision();
  torch::Tensor own_norm();
  void end_window(double trained_on);
  void adopt(torch::nn::Module& module, bool channels_last, ParameterValues values);
  void connect_ranks(const torch::nn::Module& module, ParameterValues values);
  void begin_window(double weight, std::int64_t micro_batches, std::optional<double> expected);
  std::optional<double> expected_weight(const Window& window) const;  // over all ranks
  double global_window_weight();
  void learn_weight(double weight, const Window& window);
  // Not if backward may be repeated or is replayed from a graph, nor if ranks gather weights during it, each
  // at its own pace.
  bool sends_during_backward() const {
    return ranks_ && !sharding() && !graphs_ && options_.on_out_of_memory == OnOutOfMemory::stop;
  }
  double own_divisor();  // of the losses of this rank
  void count_backward();
  torch::Tensor graphed_pass(const Batch& batch, const Loss& loss);  // forward and backward
  // Sends the loss with the numbers_to_sum of the window: along with the gradients, or in its own exchange.
  void send_loss(const torch::Tensor& own_sum, const Window& window);
  // If the next backward is the last.
  void send_loss_early(const torch::Tensor& own_sum, const Window& window);
  WindowLoss over_all_ranks(const WindowLoss& own, const Window& window);

  World* world_;
  std::unique_ptr<TimeLedger> times_ = std::make_unique<TimeLedger>();
  torch::Device device_;
  DeviceCopies to_device_;
  EngineOptions options_;
  std::unique_ptr<Precision> precision_;
  bool precision_measures_ = false;  // its state depends on the examples: it has tensors
  torch::MemoryFormat layout_ = torch::MemoryFormat::Contiguous;
  std::shared_ptr<torch::nn::Module> module_;
  std::shared_ptr<Model> model_;  // the same object; null after prepare_module()
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<ModelWeights> weights_;
  std::vector<std::string> names_;              // of the parameters
  std::vector<std::set<std::string>> holders_;  // who keeps each parameter frozen
  std::vector<torch::Tensor> parameters_;       // that were trainable when the model was prepared
  std::vector<torch::Tensor> updated_;          // what this rank holds of each: all of it, or a slice
  std::optional<std::int64_t> most_examples_;   // per pass; none: whole micro-batches fit
  std::unique_ptr<GraphedPasses> graphs_;       // if passes are recorded
  std::unique_ptr<ShardOffload> offload_;       // with strategy = "zero3"
  std::unique_ptr<RankSync> ranks_;             // null with a single rank
  std::unique_ptr<LocalAverage> local_;         // with strategy = "local_sgd"
  std::unique_ptr<OwnedGradients> owned_;       // with strategy = "zero2"
  std::unique_ptr<SyncBatchNorm> sync_norm_;    // with sync_batch_norm
  std::vector<std::unique_ptr<Stateful>> wholes_;
  torch::Tensor weight_sum_;  // of the window, while ranks sum it
  torch::Tensor loss_sum_;    // the same for the loss, with numbers_to_sum
  Work weight_work_;
  std::optional<Work> loss_work_;  // none: the loss is sent along with the gradients
  // The weight of an example in the first window of the run. Ranks expect the same in later windows, so that
  // none waits for the others before backward; gradients are corrected once the true weight is known.
  std::optional<double> example_weight_;
  bool gradients_reduced_ = true;
  double window_weight_ = 1;        // of the current window; over all ranks, once they have exchanged it
  bool weight_expected_ = false;    // window_weight_ is an expectation; the true sum has not arrived
  double own_weight_ = 0;           // of this rank's part of the window
  std::int64_t backward_left_ = 0;  // micro-batches of the window that are still to come
  bool gradients_finite_ = true;
  bool gradients_unscaled_ = false;
  torch::Tensor own_norm_, norm_;  // of the current gradients; undefined until needed
};

}  // namespace runner
