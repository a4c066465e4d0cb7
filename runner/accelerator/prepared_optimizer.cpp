#include "runner/accelerator/prepared_optimizer.hpp"

#include <torch/types.h>

#include <utility>

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

// While it exists, these parameters have no gradients, so an optimizer neither updates them nor keeps state
// for them.
class WithoutGradients {
 public:
  WithoutGradients(const std::vector<torch::Tensor>& parameters,
                   const std::set<const torch::TensorImpl*>& without) {
    for (const torch::Tensor& parameter : parameters)
      if (parameter.grad().defined() && without.contains(parameter.unsafeGetTensorImpl()))
        hidden_.emplace_back(parameter, std::exchange(parameter.mutable_grad(), {}));
  }
  ~WithoutGradients() {
    for (auto& [parameter, gradient] : hidden_) parameter.mutable_grad() = gradient;
  }
  WithoutGradients(const WithoutGradients&) = delete;
  WithoutGradients& operator=(const WithoutGradients&) = delete;

 private:
  std::vector<std::pair<torch::Tensor, torch::Tensor>> hidden_;
};

}  // namespace

void PreparedOptimizer::step() {
  if (!shared_->window.ready()) return;
  shared_->window.require_shared(shared_->parameters);
  shared_->skipped = !shared_->window.finite(shared_->parameters);
  if (!shared_->skipped) {
    const WithoutGradients of_others(shared_->parameters, shared_->foreign());
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
