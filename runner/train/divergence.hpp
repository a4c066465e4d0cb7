#pragma once

#include <optional>
#include <set>
#include <string>

#include "components/contract/progress.hpp"
#include "runner/engine/engine.hpp"
#include "runner/engine/window.hpp"
#include "runner/recipe.hpp"

namespace runner {

// Keeps a loss that is not a finite number away from the weights, and reports it at once.
class DivergenceGuard final : public Stateful {
 public:
  // `precision_skips`: the precision itself skips updates whose gradients are not finite.
  DivergenceGuard(OnDivergence rule, bool precision_skips) : rule_(rule), precision_skips_(precision_skips) {}

  // Before a run starts or resumes: infinity in a weight that begins with it, such as the mask of an
  // attention, is no sign of divergence. A checkpoint holds the names, because a resumed run may build its
  // model without values. Every rank takes part.
  void begin(const Engine& engine);

  // Before an update: whether to skip it. On a CPU the loss is always checked. Reading it from a GPU waits
  // for the GPU, so it is checked there only with `look`: before something is logged, evaluated or saved.
  bool refuses(const WindowLoss& loss, const Window& window, std::int64_t step, bool look);

  // After an update that was not refused: a precision that skips every one will never reach the end of the
  // run.
  void updated(bool applied, std::int64_t step);

  // A hook has stopped the run because of numbers that are not finite.
  void stopped_by_hook(const std::string& reason) {
    if (problem_.empty()) problem_ = reason;
  }

  // Before an evaluation or a checkpoint, and after the last update: a gradient that is not finite shows in
  // the weights before it shows in a loss.
  void look_at(const Engine& engine);

  // Whether all weights and buffers that began as finite numbers still are, on all ranks: every rank takes
  // part. What is not is not worth a file. Looks once after an update, however often it is asked.
  bool weights_are_finite(const Engine& engine);

  State save() const override;
  void load(const State& state) override;

  // Why the run cannot continue; empty: it can.
  const std::string& problem() const { return problem_; }

 private:
  OnDivergence rule_;
  bool precision_skips_;
  std::set<std::string> not_finite_at_first_;
  bool told_ = false;
  bool loss_is_finite_ = true;
  std::int64_t in_a_row_ = 0;  // updates that were skipped, or whose loss was not finite
  std::int64_t skipped_in_a_row_ = 0;
  std::optional<bool> weights_are_finite_;  // since the last update; none: not looked at yet
  std::string problem_;
};

}  // namespace runner
