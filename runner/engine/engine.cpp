#include "runner/engine/engine.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <stdexcept>

#include "components/support/pattern.hpp"
#include "registry/log.hpp"
#include "runner/data/batch_part.hpp"
#include "runner/engine/device.hpp"
#include "runner/engine/gradients.hpp"
#include "runner/engine/out_of_memory.hpp"

namespace runner {

Engine::Engine(const RunSection& run, const TrainSection& train, const Part<PrecisionKind>& precision)
    : device_(resolve_device(run.device)),
      wanted_layout_(run.memory_format),
      clip_norm_(train.clip_norm),
      clip_value_(train.clip_value),
      split_when_full_(train.on_out_of_memory == OnFullMemory::split) {
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
  names_.clear();
  parameters_.clear();
  torch::NoGradGuard no_grad;
  for (auto& item : model_->named_parameters()) {
    torch::Tensor& parameter = item.value();
    if (channels_last && parameter.dim() == 4) parameter.set_data(parameter.contiguous(layout_));
    if (!parameter.requires_grad()) continue;
    names_.push_back(item.key());
    parameters_.push_back(parameter);
  }
  weights_ = std::make_unique<ModelWeights>(*model_);
  precision_->prepare(*model_);
}

void Engine::set_trainable(const std::vector<Trainability>& changes) {
  for (const auto& [pattern, trained] : changes) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (selects(pattern, names_[i])) parameters_[i].set_requires_grad(trained);
    }
  }
  const auto trained = [](const torch::Tensor& parameter) { return parameter.requires_grad(); };
  if (!changes.empty() && std::ranges::none_of(parameters_, trained))
    throw std::runtime_error("A hook has frozen every parameter: nothing is left to train.");
}

Batch Engine::placed(const Batch& batch) const {
  if (device_.is_cpu()) return batch;
  // Copies from pinned memory overlap with computing.
  const auto move = [&](const torch::Tensor& tensor) { return tensor.to(device_, /*non_blocking=*/true); };
  Batch moved{move(batch.input), move(batch.target)};
  for (const auto& [name, tensor] : batch.extra) moved.extra.emplace(name, move(tensor));
  return moved;
}

WindowLoss Engine::accumulate(const Window& window, const Loss& loss) {
  model_->train();
  while (true) {
    std::string why;
    try {
      return accumulate_once(window, loss);
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error)) throw;
      why = error.what();
      why.resize(std::min(why.size(), why.find('\n')));  // behind it LibTorch tells where in its code it was
    }
    discard_gradients();
    make_micro_batches_smaller(window, why);
  }
}

WindowLoss Engine::accumulate_once(const Window& window, const Loss& loss) {
  double weight = 0;
  for (const Batch& batch : window) weight += loss.weight(batch);
  if (weight == 0) weight = 1;  // every target is one to be ignored: no loss and no gradient, not 0 / 0
  torch::Tensor total;
  for (const Batch& micro_batch : window) {
    const std::int64_t size = micro_batch.size(), at_once = std::min(size, most_examples_.value_or(size));
    for (std::int64_t first = 0; first < size; first += at_once) {
      const Batch batch = placed(part_of(micro_batch, first, std::min(at_once, size - first)));
      torch::Tensor sum;
      {
        const auto scope = precision_->forward();
        sum = loss.sum(model_->forward(batch), batch);
      }
      // The division by the weight is where the gradients begin, instead of an operator and its own gradient.
      sum.backward(precision_->scale(torch::full_like(sum, 1 / weight)));
      total = total.defined() ? total + sum.detach() : sum.detach();
    }
  }
  gradients_unscaled_ = false;
  return {total, weight};
}

void Engine::make_micro_batches_smaller(const Window& window, const std::string& why) {
  std::int64_t largest = 1;
  for (const Batch& batch : window) largest = std::max(largest, batch.size());
  largest = std::min(largest, most_examples_.value_or(largest));
  if (!split_when_full_) {
    throw std::runtime_error(log::format(
        "{} examples at once do not fit into memory. Divide loader.batch_size and multiply "
        "train.accumulation_steps by the same number, or set train.on_out_of_memory = \"split\". ({})",
        largest, why));
  }
  if (largest == 1)
    throw std::runtime_error(log::format("Not even one example at a time fits into memory. ({})", why));
  most_examples_ = (largest + 1) / 2;
  log::warning(
      "{} examples at once do not fit into memory: from now on {}, and as many in an update as before.",
      largest, *most_examples_);
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

void Engine::pass(const Batch& batch) {
  torch::NoGradGuard no_grad;
  model_->train();
  const auto scope = precision_->forward();
  model_->forward(placed(batch));
}

}  // namespace runner
