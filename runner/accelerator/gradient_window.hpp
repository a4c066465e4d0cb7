#pragma once

#include <torch/types.h>

#include <set>
#include <utility>
#include <vector>

#include "runner/engine/engine.hpp"

namespace runner {

// The gradients of a user's own loop, from backward to update. Knows which micro-batches belong to one
// update, and whether the gradients are complete: summed over the ranks, and no longer scaled.
class GradientWindow {
 public:
  explicit GradientWindow(Engine& engine) : engine_(engine) {}

  // The next micro-batch. If the previous window is over, starts one of this size and total weight.
  void next_micro_batch(std::int64_t micro_batches, double weight);
  bool last() const { return left_ == 0; }  // no other micro-batch follows in this window

  void backward(const torch::Tensor& loss, bool keep_graph);

  // Whether an optimizer may use the gradients, which is so in the last micro-batch of a window. Completes
  // gradients if necessary.
  bool ready();
  bool finite(const std::vector<torch::Tensor>& parameters) const;  // their gradients
  // Does nothing while gradients are being accumulated, so a loop may also clear them before backward.
  void clear(const std::vector<torch::Tensor>& parameters);
  // Drops all gradients: those of earlier weights do not belong to the ones that were loaded.
  void restart();

 private:
  void open();
  void abandon();
  void complete();

  Engine& engine_;
  std::int64_t left_ = 0;
  double weight_ = 1;
  bool open_ = false;  // there are gradients that are not complete yet
  std::vector<std::pair<torch::Tensor, torch::Tensor>> complete_;  // parameters, and earlier gradients
  // Parameters whose gradients came from a window with a gradient that was not finite, until they are
  // cleared. Several optimizers clear theirs one after the other.
  std::set<const torch::TensorImpl*> not_finite_;
};

}  // namespace runner
