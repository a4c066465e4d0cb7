#pragma once

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

  // Before an update: whether to skip it. On a CPU the loss is always checked. Reading it from a GPU waits
  // for the GPU, so it is checked there only with `look`: before something is logged, evaluated or saved.
  bool refuses(const WindowLoss& loss, std::int64_t step, bool look);

  // A hook has stopped the run because of numbers that are not finite.
  void stopped_by_hook(const std::string& reason) {
    if (problem_.empty()) problem_ = reason;
  }

  // After the last update: an infinite gradient shows in the weights before it shows in a loss.
  void look_at(const Engine& engine);

  State save() const override { return {.integers = {{"in_a_row", in_a_row_}}}; }
  void load(const State& state) override {
    StateReader saved(state);
    in_a_row_ = saved.integer("in_a_row");
    saved.finish();
  }

  // Why the run cannot continue; empty: it can.
  const std::string& problem() const { return problem_; }

 private:
  OnDivergence rule_;
  bool precision_skips_;
  bool told_ = false;
  std::int64_t in_a_row_ = 0;
  std::string problem_;
};

// Whether all weights and buffers are finite on all ranks. Every rank takes part.
bool weights_are_finite(const Engine& engine);

}  // namespace runner
