#pragma once

#include <map>
#include <memory>
#include <optional>
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
class Engine final : public Stateful {
 public:
  Engine(const EngineOptions& options, World& world);

  const torch::Device& device() const { return device_; }
  const Precision& precision() const { return *precision_; }
  torch::MemoryFormat layout() const { return layout_; }  // of images, once a model is prepared
  World& world() const { return *world_; }
  TimeLedger& times() const { return *times_; }

  // Puts the model where and how it will be trained, and makes the optimizer, where one is wanted.
  void prepare(std::shared_ptr<Model> model, const OptimizerFactory& make_optimizer = {});
  Model& model() const { return *model_; }  // its structure; its weights are reached through weights()
  Optimizer& optimizer() const { return *optimizer_; }
  bool updates(const std::string& parameter) const { return !ranks_ || ranks_->updates(parameter); }

  // The weights: to look at; all of them, parameters and then buffers, whole, for saving (every rank takes
  // part); and what a checkpoint holds of them.
  const Weights& weights() const { return *weights_; }
  std::vector<NamedTensor> full_weights() const;
  Stateful& weights_state() const { return *weights_; }

  // Of the parameters to train when the model was prepared. Throws where none would be left.
  void set_trainable(const std::vector<Trainability>& changes);

  // Gradients of the mean loss over the whole window, whatever the sizes of its micro-batches. Where memory
  // runs out and the options say so, starts the update again with smaller micro-batches, and stays with them.
  WindowLoss accumulate(const Window& window, const Loss& loss);

  void begin_window(double weight, std::int64_t micro_batches);
  torch::Tensor forward(const Batch& batch);     // in training mode, under the precision; the batch is moved
  void backward(const torch::Tensor& loss_sum);  // ranks exchange gradients with the last one of a window

  // The norm of the gradients before clipping, still on the device.
  torch::Tensor gradient_norm();

  // Clips, updates and clears the gradients. False: a gradient was not finite, and nothing was updated.
  bool update(double lr_factor);
  void discard_gradients();

  // Buffers become those of rank 0 on all ranks; update() does it, too.
  void share_buffers();

  // Once per update: what any rank wants, all ranks do. With one rank it is what that rank wants.
  Agreement agree(const Agreement& own) const;

  // Output without gradients, in evaluation mode; the batch comes back where the output is.
  torch::Tensor predict(Batch& batch);
  // Output without gradients in training mode: for what layers learn in passing, as batch-norm does.
  void pass(const Batch& batch);

  // The precision's state, which parameters are frozen, and the size of micro-batches that fits.
  State save() const override;
  void load(const State& state) override;

 private:
  WindowLoss accumulate_once(const Window& window, const Loss& loss);
  WindowLoss accumulate_in_shards(const Window& window, const Loss& loss);
  torch::Tensor loss_sum_of(const Batch& batch, const Loss& loss);  // forward, under the precision
  void make_micro_batches_smaller(const Window& window, const std::string& why);
  Batch placed(const Batch& batch) const;
  bool finish_gradients();
  double global_window_weight();
  WindowLoss over_all_ranks(WindowLoss own);

  World* world_;
  std::unique_ptr<TimeLedger> times_ = std::make_unique<TimeLedger>();
  torch::Device device_;
  EngineOptions options_;
  std::unique_ptr<Precision> precision_;
  torch::MemoryFormat layout_ = torch::MemoryFormat::Contiguous;
  std::shared_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<ModelWeights> weights_;
  std::vector<std::string> names_;             // of the parameters
  std::vector<torch::Tensor> parameters_;      // those that are trained
  std::optional<std::int64_t> most_examples_;  // at once; none: whole micro-batches fit
  std::unique_ptr<RankSync> ranks_;            // none where there is one rank
  torch::Tensor weight_sum_;                   // on its way between ranks
  Work weight_work_;
  bool gradients_reduced_ = true;
  double window_weight_ = 1;        // of the window under way
  std::int64_t backward_left_ = 0;  // micro-batches of it that are still to come
  bool gradients_finite_ = true;
  bool gradients_unscaled_ = false;
  torch::Tensor norm_;  // of the present gradients; undefined until somebody asks
};

// Other weights are in the engine's model for as long as this lives, and then its own again.
class SwappedWeights {
 public:
  SwappedWeights(Engine& engine, const std::map<std::string, torch::Tensor>& tensors);
  ~SwappedWeights();
  SwappedWeights(const SwappedWeights&) = delete;
  SwappedWeights& operator=(const SwappedWeights&) = delete;

 private:
  std::vector<std::pair<torch::Tensor, torch::Tensor>> kept_;  // of the model, and what was in it
};

}  // namespace runner
