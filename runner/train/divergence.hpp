#pragma once

#include <optional>
#include <set>
#include <string>

#include "components/contract/progress.hpp"
#include "runner/engine/engine.hpp"
#include "runner/engine/window.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// Keeps a loss that is not a finite number away from the weights, and reports it at once.
class DivergenceGuard final : public Stateful {
 public:
  // `precision_skips`: the precision itself skips updates whose gradients are not finite.
  DivergenceGuard(OnDivergence rule, bool precision_skips) : rule_(rule), precision_skips_(precision_skips) {}

  // Called before a run starts or resumes. A weight that contains infinity from the start, such as an
  // attention mask, is not a sign of divergence. A checkpoint holds the names of these weights, because a
  // resumed run may build its model without values. Every rank takes part.
  void begin(const Engine& engine);

  // Before an update: whether to skip it. On a CPU the loss is always checked. Reading it from a GPU waits
  // for the GPU, so it is checked there only with `look`: before something is logged, evaluated or saved.
  // Several ranks all look: they find out together whether the data of one of them is the cause.
  bool refuses(const WindowLoss& loss, const Window& window, std::int64_t step, bool look, World& world);

  // After an update that was not refused: if the precision skips every update, the run never ends.
  void updated(bool applied, std::int64_t step);

  // A hook, of any rank, has stopped the run because of numbers that are not finite. Every rank calls it.
  void stopped_by_hook(const std::string& reason, const WindowLoss& loss, const Window& window,
                       std::int64_t step, World& world);

  // Called before an evaluation or a checkpoint, and after the last update: a gradient that is not finite
  // affects the weights before it affects a loss.
  void look_at(const Engine& engine);

  // Whether all weights and buffers that were finite at first still are, on all ranks; every rank takes part.
  // Weights that are not finite are not saved. The result is cached until the next update.
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
  std::optional<bool> weights_are_finite_;  // since the last update; none: not checked yet
  std::string problem_;
};

}  // namespace runner
