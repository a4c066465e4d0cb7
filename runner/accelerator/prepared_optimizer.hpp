#pragma once

#include <torch/optim/optimizer.h>
#include <torch/optim/schedulers/lr_scheduler.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "components/optimizers/optimizer.hpp"

namespace runner {

class Engine;
class GradientWindow;

// An optimizer that does not update while gradients are being accumulated, nor if they are not finite. Copies
// are the same optimizer. It must not outlive its accelerator.
class PreparedOptimizer {
 public:
  void step();
  // Does nothing while gradients are being accumulated, so a loop may clear them before backward or after the
  // step.
  void zero_grad();
  bool step_was_skipped() const { return shared_->skipped; }  // the last gradients were not finite
  double learning_rate() const { return shared_->optimizer->peak_lr() * shared_->lr_factor; }

 private:
  friend class Accelerator;
  friend class PreparedScheduler;
  struct Shared {
    Engine& engine;
    GradientWindow& window;
    std::unique_ptr<Optimizer> optimizer;
    std::vector<torch::Tensor> parameters;
    double lr_factor = 1;
    bool skipped = false;
    std::int64_t steps = 0;
    std::function<std::set<const torch::TensorImpl*>()> foreign = {};  // parameters that other ranks update
  };
  explicit PreparedOptimizer(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
};

// A schedule that advances once per update, whatever the number of ranks and micro-batches, and not if the
// update was skipped. Copies are the same schedule.
class PreparedScheduler {
 public:
  using Factor = std::function<double(std::int64_t step)>;  // a multiple of the optimizer's learning rate

  void step();

 private:
  friend class Accelerator;
  struct Shared final : Stateful {
    Shared(GradientWindow& window_, std::function<bool()> skipped_)
        : window(window_), skipped(std::move(skipped_)) {}

    State save() const override;
    void load(const State& state) override;
    void apply() const;

    GradientWindow& window;
    std::function<bool()> skipped;  // whether an optimizer skipped its last update
    torch::optim::LRScheduler* of_torch = nullptr;
    PreparedOptimizer::Shared* optimizer = nullptr;  // whose learning rate `factor` multiplies
    Factor factor;
    std::int64_t steps = 0;
  };
  explicit PreparedScheduler(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
};

}  // namespace runner
