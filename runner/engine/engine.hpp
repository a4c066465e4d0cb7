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
#include "components/models/support/model_weights.hpp"
#include "components/optimizers/optimizer.hpp"
#include "runner/engine/agreement.hpp"
#include "runner/engine/options.hpp"
#include "runner/engine/rank_sync.hpp"
#include "runner/engine/time_ledger.hpp"
#include "runner/engine/window.hpp"
#include "runner/engine/world.hpp"

namespace runner {

class LocalAverage;
class SyncBatchNorm;

// Makes the optimizer for the parameters that this rank updates.
using OptimizerFactory =
    std::function<std::unique_ptr<Optimizer>(const torch::OrderedDict<std::string, torch::Tensor>&)>;

// Knows about devices, precision, accumulation, clipping and ranks, so that nothing else has to. It owns what
// it prepares. One update is
//
//   const WindowLoss loss = engine.accumulate(window, criterion);   // gradients of the mean over the window
//   engine.update(lr_factor);
//
// or, in a loop of one's own,
//
//   engine.begin_window(weight_of_all_micro_batches, number_of_micro_batches);
//   for (const Batch& batch : batches) engine.backward(criterion.sum(engine.forward(batch), batch));
//   engine.update(lr_factor);
//
// Modules that know nothing of batches, and optimizers of their own, are what Accelerator
// (runner/accelerator/accelerator.hpp) is for; it stands on prepare_module().
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

  // Puts the model where and how it will be trained, and makes the optimizer, where one is wanted.
  void prepare(std::shared_ptr<Model> model, const OptimizerFactory& make_optimizer = {});
  // A module without an optimizer: whoever trains it calls it and updates its parameters. Called again, it
  // takes the place of the former one, which may be a part of it.
  void prepare_module(std::shared_ptr<torch::nn::Module> module);
  Model& model() const { return *model_; }  // its structure; its weights are reached through weights()
  Optimizer& optimizer() const { return *optimizer_; }
  bool updates(const std::string& parameter) const { return !ranks_ || ranks_->updates(parameter); }

  // The weights: to look at; all of them, parameters and then buffers, whole, for saving (every rank takes
  // part, and with zero3 rank 0 alone gets them: in memory, or in a temporary file of the folder); and what a
  // checkpoint holds of them: `on_one_rank` where somebody needs all of it in one place.
  const Weights& weights() const;
  std::vector<NamedTensor> full_weights(const std::filesystem::path& folder = {}) const;
  Stateful& weights_state(bool on_one_rank = false) const;
  // Something that is kept beside the weights that this rank holds, such as an average of them, as a
  // checkpoint holds it. Lives as long as the engine.
  Stateful& as_whole(Stateful& held);

  // Of the states of a run, those of which every rank saves a part: whole tensors, each by one rank. The
  // others are saved by rank 0.
  using NamedStates = std::vector<std::pair<std::string, Stateful*>>;
  std::set<std::string> sharded_states(const NamedStates& states) const;
  bool updates_a_part() const { return ranks_ && ranks_->sharded_update(); }  // of the parameters

  // Of the parameters to train when the model was prepared. Throws where none would be left.
  void set_trainable(const std::vector<Trainability>& changes);

  // Gradients of the mean loss over the whole window, whatever the sizes of its micro-batches. Where memory
  // runs out and the options say so, starts the update again with smaller micro-batches, and stays with them.
  WindowLoss accumulate(const Window& window, const Loss& loss);

  void begin_window(double weight, std::int64_t micro_batches);
  std::unique_ptr<PrecisionScope> autocast() { return precision_->forward(); }  // for a forward of one's own
  torch::Tensor forward(const Batch& batch);     // in training mode, under the precision; the batch is moved
  void backward(const torch::Tensor& loss_sum);  // ranks exchange gradients with the last one of a window
  // The same where the caller counts: whether it is the last one, and whether the graph is needed again.
  void backward(const torch::Tensor& loss_sum, bool last, bool keep_graph = false);
  // Gradients are exchanged and no longer scaled. False: some are not finite. update() does it, too.
  bool complete_gradients();

  // The norm of the gradients before clipping, still on the device.
  torch::Tensor gradient_norm();

  // Clips, updates and clears the gradients. False: a gradient was not finite, and nothing was updated.
  bool update(double lr_factor);
  void discard_gradients();

  // For an optimizer of one's own: the weights that other ranks have updated.
  void share_weights();
  // Buffers become those of rank 0 on all ranks; update() does it, too.
  void share_buffers();

  // With strategy = "local_sgd" ranks have weights of their own between two averages: whoever evaluates or
  // saves asks for one first. Before saving there may be more to bring together. Every rank takes part.
  bool ranks_are_equal() const;
  void average_weights();
  void prepare_to_save();

  // Once per update: what any rank wants, all ranks do. With one rank it is what that rank wants.
  Agreement agree(const Agreement& own) const;

  // Output without gradients, in evaluation mode; the batch comes back where the output is.
  torch::Tensor predict(Batch& batch);
  // Output without gradients in training mode: for what layers learn in passing, as batch-norm does.
  void pass(const Batch& batch);
  // Every rank calls it when it has nothing left to predict or pass, however much that was, and before ranks
  // exchange anything else: where each has a part of the weights, they need each other until then.
  void finish_passes();

  // The precision's state, which parameters are frozen, and the size of micro-batches that fits.
  State save() const override;
  void load(const State& state) override;

 private:
  WindowLoss accumulate_once(const Window& window, const Loss& loss);
  WindowLoss accumulate_in_shards(const Window& window, const Loss& loss);
  torch::Tensor loss_sum_of(const Batch& batch, const Loss& loss);  // forward, under the precision
  void make_micro_batches_smaller(const Window& window, const std::string& why);
  Batch placed(const Batch& batch) const;
  Sharding* sharding() const { return ranks_ ? ranks_->sharding() : nullptr; }
  void set_trained(std::size_t parameter, bool trained);
  void exchange_gradients();
  std::int64_t examples_at_once(std::int64_t size) const;  // of a micro-batch
  torch::Tensor own_norm();
  void adopt(torch::nn::Module& module, bool channels_last);
  double global_window_weight();
  WindowLoss over_all_ranks(WindowLoss own);

  World* world_;
  std::unique_ptr<TimeLedger> times_ = std::make_unique<TimeLedger>();
  torch::Device device_;
  EngineOptions options_;
  std::unique_ptr<Precision> precision_;
  torch::MemoryFormat layout_ = torch::MemoryFormat::Contiguous;
  std::shared_ptr<torch::nn::Module> module_;
  std::shared_ptr<Model> model_;  // the same; none where it is no model of ours
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<ModelWeights> weights_;
  std::vector<std::string> names_;             // of the parameters
  std::vector<torch::Tensor> parameters_;      // those that are trained
  std::vector<torch::Tensor> updated_;         // what this rank holds of each: itself, or a slice
  std::optional<std::int64_t> most_examples_;  // at once; none: whole micro-batches fit
  std::unique_ptr<RankSync> ranks_;            // none where there is one rank
  std::unique_ptr<LocalAverage> local_;        // with strategy = "local_sgd"
  std::unique_ptr<SyncBatchNorm> sync_norm_;   // with sync_batch_norm
  std::vector<std::unique_ptr<Stateful>> wholes_;
  torch::Tensor weight_sum_;  // on its way between ranks
  Work weight_work_;
  bool gradients_reduced_ = true;
  double window_weight_ = 1;        // of the window under way, over all ranks once they have told each other
  double own_weight_ = 0;           // of this rank's part of it
  std::int64_t backward_left_ = 0;  // micro-batches of it that are still to come
  bool gradients_finite_ = true;
  bool gradients_unscaled_ = false;
  torch::Tensor own_norm_, norm_;  // of the present gradients; undefined until somebody asks
};

}  // namespace runner
