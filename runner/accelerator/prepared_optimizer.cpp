#include "runner/accelerator/prepared_optimizer.hpp"

#include "runner/accelerator/gradient_window.hpp"
#include "runner/engine/engine.hpp"

namespace runner {

namespace {

// LibTorch's schedulers have no public way to read or set their step count.
struct Opened : torch::optim::LRScheduler {
  static unsigned& step_count(torch::optim::LRScheduler& scheduler) {
    return scheduler.*(&Opened::step_count_);
  }
};

}  // namespace

void PreparedOptimizer::step() {
  if (!shared_->window.ready()) return;
  shared_->window.require_shared(shared_->parameters);
  shared_->skipped = !shared_->window.finite(shared_->parameters);
  if (!shared_->skipped) {
    shared_->optimizer->step(shared_->lr_factor);
    shared_->engine.share_weights();
    ++shared_->steps;
  }
  shared_->engine.share_buffers();
}

void PreparedOptimizer::zero_grad() { shared_->window.clear(shared_->parameters); }

void PreparedScheduler::step() {
  if (!shared_->window.ready() || shared_->skipped()) return;
  ++shared_->steps;
  if (shared_->of_torch) shared_->of_torch->step();
  shared_->apply();
}

void PreparedScheduler::Shared::apply() const {
  if (optimizer) optimizer->lr_factor = factor(steps);
}

State PreparedScheduler::Shared::save() const { return {.integers = {{"steps", steps}}}; }

void PreparedScheduler::Shared::load(const State& state) {
  StateReader saved(state);
  steps = saved.integer("steps");
  saved.finish();
  if (of_torch) Opened::step_count(*of_torch) = static_cast<unsigned>(steps);
  apply();
}

}  // namespace runner
