#include "runner/engine/engine.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include "runner/engine/device.hpp"
#include "runner/engine/gradients.hpp"

namespace runner {

Engine::Engine(const RunSection& run, const TrainSection& train, const Part<PrecisionKind>& precision)
    : device_(resolve_device(run.device)),
      wanted_layout_(run.memory_format),
      clip_norm_(train.clip_norm),
      clip_value_(train.clip_value) {
  if (run.threads > 0) torch::set_num_threads(run.threads);
  at::globalContext().setDeterministicAlgorithms(run.deterministic, /*warn_only=*/false);
  at::globalContext().setDeterministicCuDNN(run.deterministic);
  precision_ = precision.build({device_});
}

void Engine::place(std::shared_ptr<Model> model) {
  model_ = std::move(model);
  model_->to(device_);
  const bool channels_last = wanted_layout_ == MemoryFormat::channels_last ||
                             (wanted_layout_ == MemoryFormat::automatic && model_->prefers_channels_last());
  layout_ = channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  parameters_.clear();
  torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : model_->parameters()) {
    if (channels_last && parameter.dim() == 4) parameter.set_data(parameter.contiguous(layout_));
    if (parameter.requires_grad()) parameters_.push_back(parameter);
  }
  precision_->prepare(*model_);
}

Batch Engine::placed(const Batch& batch) const {
  if (device_.is_cpu()) return batch;
  // Copies from pinned memory overlap with computing.
  const auto move = [&](const torch::Tensor& tensor) { return tensor.to(device_, /*non_blocking=*/true); };
  Batch moved{move(batch.input), move(batch.target)};
  for (const auto& [name, tensor] : batch.extra) moved.extra.emplace(name, move(tensor));
  return moved;
}

torch::Tensor Engine::accumulate(const Window& window, const Loss& loss) {
  model_->train();
  double weight = 0;
  for (const Batch& batch : window) weight += loss.weight(batch);
  if (weight == 0) weight = 1;  // every target is one to be ignored: no loss and no gradient, not 0 / 0
  torch::Tensor total;
  for (const Batch& micro_batch : window) {
    const Batch batch = placed(micro_batch);
    torch::Tensor share;
    {
      const auto scope = precision_->forward();
      share = loss.sum(model_->forward(batch), batch) / weight;
    }
    precision_->scale(share).backward();
    total = total.defined() ? total + share.detach() : share.detach();
  }
  gradients_unscaled_ = false;
  return total;
}

bool Engine::finish_gradients() {
  if (!gradients_unscaled_) {
    gradients_finite_ = precision_->unscale(gradients_of(parameters_));
    gradients_unscaled_ = true;
  }
  return gradients_finite_;
}

torch::Tensor Engine::gradient_norm() {
  finish_gradients();
  if (!norm_.defined()) norm_ = total_norm(gradients_of(parameters_));
  return norm_;
}

bool Engine::update(Optimizer& optimizer, double lr_factor) {
  const bool finite = finish_gradients();
  if (finite) {
    const auto gradients = gradients_of(parameters_);
    if (clip_norm_) clip_to_norm(gradients, gradient_norm(), *clip_norm_);
    if (clip_value_) clip_to_value(gradients, *clip_value_);
    optimizer.step(lr_factor);
  }
  discard_gradients();
  return finite;
}

void Engine::discard_gradients() {
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
  norm_.reset();
}

torch::Tensor Engine::predict(Batch& batch) {
  torch::NoGradGuard no_grad;
  model_->eval();
  batch = placed(batch);
  const auto scope = precision_->forward();
  return model_->forward(batch);
}

}  // namespace runner
