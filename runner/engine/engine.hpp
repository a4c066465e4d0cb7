#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "components/contract/requests.hpp"
#include "components/losses/loss.hpp"
#include "components/models/model.hpp"
#include "components/models/support/model_weights.hpp"
#include "components/optimizers/optimizer.hpp"
#include "components/precisions/precision.hpp"
#include "runner/engine/window_loss.hpp"
#include "runner/recipe.hpp"

namespace runner {

// The micro-batches of one optimizer update.
using Window = std::vector<Batch>;

// Knows about devices, precision, accumulation and clipping, so that nothing else has to.
class Engine {
 public:
  Engine(const RunSection& run, const TrainSection& train, const Part<PrecisionKind>& precision);

  const torch::Device& device() const { return device_; }
  const Precision& precision() const { return *precision_; }
  torch::MemoryFormat layout() const { return layout_; }  // of images, once the model is placed

  // Puts the model where and how it will be trained; before an optimizer sees its parameters.
  void place(std::shared_ptr<Model> model);

  const Weights& weights() const { return *weights_; }  // once the model is placed

  // Of the parameters to train when the model was placed. Throws where none would be left.
  void set_trainable(const std::vector<Trainability>& changes);

  // Gradients of the mean loss over the whole window, whatever the sizes of its micro-batches. Where memory
  // runs out and the recipe says so, starts again with smaller micro-batches, and stays with them.
  WindowLoss accumulate(const Window& window, const Loss& loss);

  // The norm of the gradients before clipping, still on the device.
  torch::Tensor gradient_norm();

  // Clips, updates and clears the gradients. False: a gradient was not finite, and nothing was updated.
  bool update(Optimizer& optimizer, double lr_factor);
  void discard_gradients();

  // Output without gradients, in evaluation mode; the batch comes back where the output is.
  torch::Tensor predict(Batch& batch);
  // Output without gradients in training mode: for what layers learn in passing, as batch-norm does.
  void pass(const Batch& batch);

 private:
  WindowLoss accumulate_once(const Window& window, const Loss& loss);
  void make_micro_batches_smaller(const Window& window, const std::string& why);
  Batch placed(const Batch& batch) const;
  bool finish_gradients();

  torch::Device device_;
  MemoryFormat wanted_layout_;
  torch::MemoryFormat layout_ = torch::MemoryFormat::Contiguous;
  std::optional<double> clip_norm_, clip_value_;
  bool split_when_full_;
  std::optional<std::int64_t> most_examples_;  // at once; none: whole micro-batches fit
  std::unique_ptr<Precision> precision_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<Weights> weights_;
  std::vector<std::string> names_;         // of the parameters
  std::vector<torch::Tensor> parameters_;  // those that are trained
  bool gradients_finite_ = true;
  bool gradients_unscaled_ = false;
  torch::Tensor norm_;  // of the present gradients; undefined until somebody asks
};

}  // namespace runner
