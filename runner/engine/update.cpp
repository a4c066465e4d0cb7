// One update of Engine: backward over a window of micro-batches, complete gradients, the optimizer.
#include <torch/types.h>
#include <torch/utils.h>

#include <limits>
#include <stdexcept>

#include "components/torch/shape_text.hpp"
#include "registry/base/log.hpp"
#include "runner/engine/engine.hpp"
#include "runner/engine/gradients.hpp"
#include "runner/engine/runtime/graphed_passes.hpp"
#include "runner/engine/strategies/local_average.hpp"
#include "runner/engine/strategies/sync_batch_norm.hpp"
#include "runner/engine/strategies/together.hpp"
#include "runner/engine/zero3/sharding.hpp"

namespace runner {

namespace {

// The scopes of a forward pass in training: gathered weights, the precision, batch norm over all ranks.
class TrainingPass {
 public:
  TrainingPass(Sharding* sharding, Precision& precision, SyncBatchNorm* norm)
      : weights_(sharding), precision_(precision.forward()) {
    if (norm) norm_.emplace(*norm);
  }

 private:
  ForwardPass weights_;
  std::unique_ptr<PrecisionScope> precision_;
  std::optional<OperatorModeScope> norm_;
};

}  // namespace

void Engine::exchange_gradients() {
  if (gradients_reduced_) return;
  gradients_reduced_ = true;
  if (!local_) {
    ranks_->reduce_gradients();
    share_precision();
    return;
  }
  if (own_weight_ > 0) return;
  // This rank has no examples, but optimizers count updates, so it makes one like all other ranks.
  for (torch::Tensor& parameter : parameters_) {
    if (parameter.requires_grad() && !parameter.grad().defined())
      parameter.mutable_grad() = torch::zeros_like(parameter);
  }
}

void Engine::share_precision() {
  if (precision_measures_) share_state(*world_, *precision_, 0, "the state of the precision");
}

torch::Tensor Engine::loss_sum_of(const Batch& batch, const Loss& loss) {
  const TrainingPass pass(sharding(), *precision_, sync_norm_.get());
  const torch::Tensor sum = loss.sum(model_->forward(batch), batch);
  if (!sum.defined() || sum.numel() != 1)
    throw std::runtime_error(log::format(
        "The loss gives {} for a batch of {} examples, instead of the sum over them, which is one number.",
        sum.defined() ? "a tensor of shape " + shape_text(sum.sizes()) : "nothing", batch.size()));
  return sum.dim() == 0 ? sum : sum.reshape({});
}

void Engine::begin_window(double weight, std::int64_t micro_batches) {
  begin_window(weight, micro_batches, std::nullopt);
}

void Engine::begin_window(double weight, std::int64_t micro_batches, std::optional<double> expected) {
  finish_passes();
  if (model_) model_->train();
  window_weight_ = expected.value_or(weight);
  weight_expected_ = expected.has_value();
  own_weight_ = weight;
  if (ranks_ && !expected) {  // runs while this rank computes
    weight_sum_ = torch::full({1}, weight, torch::kFloat64);
    weight_work_ = world_->begin_all_reduce(weight_sum_, Reduction::sum, "the weight of the window");
  }
  backward_left_ = micro_batches;
  gradients_unscaled_ = false;
  gradients_reduced_ = false;
}

double Engine::global_window_weight() {
  if (weight_sum_.defined()) {
    weight_work_.wait();
    window_weight_ = weight_sum_.item<double>();
    weight_sum_.reset();
  }
  if (window_weight_ == 0) window_weight_ = 1;  // every target is ignored: avoid 0 / 0
  return window_weight_;
}

torch::Tensor Engine::forward(const Batch& batch) {
  const TrainingPass pass(sharding(), *precision_, sync_norm_.get());
  return model_->forward(placed(batch));
}

double Engine::own_divisor() {
  return local_ ? (own_weight_ != 0 ? own_weight_ : 1) : global_window_weight();
}

void Engine::count_backward() {
  if (backward_left_-- <= 0)
    throw std::logic_error("backward() was called more often than begin_window() announced");
}

torch::Tensor Engine::graphed_pass(const Batch& batch, const Loss& loss) {
  count_backward();
  return graphs_->run(
      batch, parameters_, [&](const Batch& fixed) { return loss_sum_of(fixed, loss); },
      [&](const torch::Tensor& sum) { return precision_->scale(torch::full_like(sum, 1 / own_divisor())); });
}

void Engine::backward(const torch::Tensor& loss_sum) {
  count_backward();
  backward(loss_sum, backward_left_ == 0);
}

void Engine::backward(const torch::Tensor& loss_sum, bool last, bool keep_graph) {
  const double weight = own_divisor();
  if (last && !local_ && sends_during_backward()) ranks_->begin_last_backward();
  // Backward starts with 1 / weight, which saves a division of the loss and the backward of that operator.
  const torch::Tensor start = precision_->scale(torch::full_like(loss_sum, 1 / weight));
  if (!sharding()) return loss_sum.backward(start, keep_graph);
  sharding()->parameters.begin_backward();
  {
    const OperatorModeScope gathering(sharding()->parameters);
    loss_sum.backward(start, keep_graph);
  }
  sharding()->parameters.end_backward();
}

bool Engine::complete_gradients() {
  if (!gradients_unscaled_) {
    if (!gradients_reduced_) finish_passes();
    if (ranks_) exchange_gradients();
    auto gradients = gradients_of(updated_);
    // If a gradient of another rank is not finite, a NaN makes the precision skip the update on this rank
    // too.
    if (ranks_ && precision_->skips_updates() && ranks_->any_not_finite(gradients))
      gradients.push_back(torch::full({1}, std::numeric_limits<float>::quiet_NaN(), device_));
    gradients_finite_ = precision_->unscale(gradients);
    gradients_unscaled_ = true;
  }
  return gradients_finite_;
}

torch::Tensor Engine::own_norm() {
  complete_gradients();
  if (!own_norm_.defined()) own_norm_ = total_norm(gradients_of(updated_));
  return own_norm_;
}

torch::Tensor Engine::gradient_norm() {
  if (!norm_.defined()) norm_ = ranks_ ? ranks_->total_norm(own_norm()) : own_norm();
  return norm_;
}

bool Engine::update(double lr_factor) {
  const bool finite = complete_gradients();
  if (finite) {
    const auto gradients = gradients_of(updated_);
    if (options_.clip_norm)
      clip_to_norm(gradients, local_ ? own_norm() : gradient_norm(), *options_.clip_norm);
    if (options_.clip_value) clip_to_value(gradients, *options_.clip_value);
    optimizer_->step(lr_factor);
    share_weights();
  }
  end_window(finite ? own_weight_ : 0);
  return finite;
}

void Engine::skip_update() { end_window(0); }

// With or without an update, the passes have changed buffers.
void Engine::end_window(double trained_on) {
  if (local_) {
    local_->passed(trained_on);
    if (local_->due()) average_weights();
  } else {
    share_buffers();
  }
  discard_gradients();
}

void Engine::share_weights() {
  if (ranks_) ranks_->share_weights();
}

void Engine::share_buffers() {
  if (ranks_ && !options_.distributed.reproducible) ranks_->share_buffers();
}

bool Engine::ranks_are_equal() const { return !local_ || local_->ranks_are_equal(); }

void Engine::average_weights() {
  if (!local_) return;
  const auto counted = times_->during(TimeLedger::communication);
  local_->average(weights_->held_parameters(), weights_->held_buffers(), *optimizer_);
  share_precision();
}

void Engine::discard_gradients() {
  for (torch::Tensor& parameter : updated_) parameter.mutable_grad().reset();
  if (ranks_) ranks_->drop_gradients();
  own_norm_.reset();
  norm_.reset();
}

}  // namespace runner
