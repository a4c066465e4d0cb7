#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "components/losses/loss.hpp"
#include "components/models/model.hpp"
#include "components/optimizers/optimizer.hpp"
#include "components/precisions/precision.hpp"
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

  // Gradients of the mean loss over the whole window, whatever the sizes of its micro-batches. Returns that
  // mean, still on the device.
  torch::Tensor accumulate(const Window& window, const Loss& loss);

  // The norm of the gradients before clipping, still on the device.
  torch::Tensor gradient_norm();

  // Clips, updates and clears the gradients. False: a gradient was not finite, and nothing was updated.
  bool update(Optimizer& optimizer, double lr_factor);
  void discard_gradients();

  // Output without gradients, in evaluation mode; the batch comes back where the output is.
  torch::Tensor predict(Batch& batch);

 private:
  Batch placed(const Batch& batch) const;
  bool finish_gradients();

  torch::Device device_;
  MemoryFormat wanted_layout_;
  torch::MemoryFormat layout_ = torch::MemoryFormat::Contiguous;
  std::optional<double> clip_norm_, clip_value_;
  std::unique_ptr<Precision> precision_;
  std::shared_ptr<Model> model_;
  std::vector<torch::Tensor> parameters_;  // those that are trained
  bool gradients_finite_ = true;
  bool gradients_unscaled_ = false;
  torch::Tensor norm_;  // of the present gradients; undefined until somebody asks
};

}  // namespace runner
