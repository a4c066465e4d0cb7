#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/types.h>

#include <map>
#include <memory>
#include <mutex>
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
  ~GradientWindow();
  GradientWindow(const GradientWindow&) = delete;
  GradientWindow& operator=(const GradientWindow&) = delete;

  // Whether a backward pass is the last of its update: as the micro-batches say, or as the user does.
  enum class Sync { by_count, hold, now };
  Sync set_sync(Sync sync);  // returns what it was

  // The next micro-batch. If the previous window is over, starts one of this size and total weight.
  void next_micro_batch(std::int64_t micro_batches, double weight);
  // No other micro-batch follows in this window.
  bool last() const { return sync_ == Sync::by_count ? left_ == 0 : sync_ == Sync::now; }

  void backward(const torch::Tensor& loss, bool keep_graph);

  // Whether an optimizer may use the gradients, which is so in the last micro-batch of a window. Completes
  // gradients if necessary.
  bool ready();
  bool finite(const std::vector<torch::Tensor>& parameters) const;  // their gradients
  // Does nothing while gradients are being accumulated, so a loop may also clear them before backward.
  void clear(const std::vector<torch::Tensor>& parameters);
  bool between_updates() const { return left_ == 0 && !held_; }
  // With several ranks: notices backward passes over parameters that have been prepared since.
  void watch();
  void unwatch();  // parameters, which are kept alive by it
  // With several ranks: throws if some of these gradients come from a backward pass that went past the
  // window, and are therefore this rank's alone.
  void require_shared(const std::vector<torch::Tensor>& parameters);
  // Drops all gradients: those of earlier weights do not belong to the ones that were loaded.
  void restart();

 private:
  class Watch;

  void open();
  void abandon();
  void complete();

  Engine& engine_;
  Sync sync_ = Sync::by_count;
  bool held_ = false;  // the window stays open until a backward pass that is not held
  std::int64_t left_ = 0;
  double weight_ = 1;
  bool open_ = false;  // there are gradients that are not complete yet
  std::vector<std::pair<torch::Tensor, torch::Tensor>> complete_;  // parameters, and earlier gradients
  // Parameters whose gradients came from a window with a gradient that was not finite, until they are
  // cleared. Several optimizers clear theirs one after the other.
  std::set<const torch::TensorImpl*> not_finite_;
  // With several ranks: what accumulates the gradient of each parameter, with a hook on it that notices
  // backward passes of the user's own.
  std::map<const torch::TensorImpl*, std::pair<c10::intrusive_ptr<torch::autograd::Node>, std::uintptr_t>>
      watched_;
  std::mutex mutex_;  // backward runs on a thread for each device
  bool in_backward_ = false;
  std::set<const torch::TensorImpl*> not_shared_;  // gradients that came past the window
};

}  // namespace runner
