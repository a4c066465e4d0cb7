#pragma once

#include <torch/types.h>

#include <utility>
#include <vector>

#include "runner/engine/engine.hpp"

namespace runner {

// The gradients of a user's own loop, from backward to update: which micro-batches belong together, and
// whether the gradients are complete: exchanged between ranks, and no longer scaled.
class GradientWindow {
 public:
  explicit GradientWindow(Engine& engine) : engine_(engine) {}

  // The next micro-batch. Starts a window of so many, of that weight in all, if the last one is over.
  void next_micro_batch(std::int64_t micro_batches, double weight);
  bool last() const { return left_ == 0; }  // no other micro-batch follows in this window

  void backward(const torch::Tensor& loss, bool keep_graph);

  // Whether an optimizer may look at the gradients: not before the last micro-batch of a window. Completes
  // those that wait for it.
  bool ready();
  bool finite() const { return finite_; }
  // Nothing happens while gradients are being accumulated: also where a loop clears them before backward.
  void clear(const std::vector<torch::Tensor>& parameters);

 private:
  void open();
  void complete();

  Engine& engine_;
  std::int64_t left_ = 0;
  double weight_ = 1;
  bool open_ = false;   // something was added that is not complete yet
  bool finite_ = true;  // what was completed since the gradients were cleared
  std::vector<std::pair<torch::Tensor, torch::Tensor>> complete_;  // parameters, and gradients of before
};

}  // namespace runner
