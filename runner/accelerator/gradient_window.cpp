#include "runner/accelerator/gradient_window.hpp"

#include <torch/utils.h>

#include <algorithm>

namespace runner {

namespace {

// The user's code may have cleared gradients itself, also by setting them to zero.
bool cleared(const torch::Tensor& gradient) { return !gradient.defined() || !gradient.any().item<bool>(); }

}  // namespace

void GradientWindow::next_micro_batch(std::int64_t micro_batches, double weight) {
  if (left_ == 0) {
    if (open_) complete();
    left_ = micro_batches;
    weight_ = weight;
  }
  --left_;
}

void GradientWindow::backward(const torch::Tensor& loss, bool keep_graph) {
  if (!open_) open();
  try {
    engine_.backward(loss, last(), keep_graph);
  } catch (...) {
    abandon();
    throw;
  }
  if (last()) complete();
}

// The gradients of this window are lost, because some parameters have theirs and others do not; those of
// earlier windows are as they were.
void GradientWindow::abandon() {
  engine_.discard_gradients();
  for (auto& [parameter, before] : complete_) parameter.mutable_grad() = before;
  complete_.clear();
  open_ = false;
  left_ = 0;
}

void GradientWindow::restart() {
  abandon();
  not_finite_.clear();
  engine_.discard_gradients();
}

// Sets complete gradients aside, so that they are not summed over the ranks or unscaled a second time.
void GradientWindow::open() {
  const bool reused = !engine_.world().alone();  // gradients are then views of buckets, which are reused
  const auto held = engine_.weights().held_parameters();
  if (!not_finite_.empty())
    for (const auto& [name, parameter] : held)
      if (cleared(parameter.grad())) not_finite_.erase(parameter.unsafeGetTensorImpl());
  for (const auto& [name, tensor] : held) {
    torch::Tensor parameter = tensor;
    torch::Tensor& gradient = parameter.mutable_grad();
    if (!gradient.defined()) continue;
    complete_.emplace_back(parameter, reused ? gradient.clone() : gradient);
    gradient.reset();
  }
  engine_.begin_window(weight_, 1);
  open_ = true;
}

void GradientWindow::complete() {
  if (!engine_.complete_gradients()) {
    for (const auto& [name, parameter] : engine_.weights().held_parameters())
      if (parameter.grad().defined()) not_finite_.insert(parameter.unsafeGetTensorImpl());
  }
  const torch::NoGradGuard no_grad;
  for (auto& [parameter, before] : complete_) {
    torch::Tensor& gradient = parameter.mutable_grad();
    gradient = gradient.defined() ? before + gradient : before;
  }
  complete_.clear();
  open_ = false;
}

bool GradientWindow::ready() {
  if (!last()) return false;
  if (open_) complete();
  return true;
}

bool GradientWindow::finite(const std::vector<torch::Tensor>& parameters) const {
  return std::ranges::none_of(parameters, [&](const torch::Tensor& parameter) {
    return not_finite_.contains(parameter.unsafeGetTensorImpl());
  });
}

void GradientWindow::clear(const std::vector<torch::Tensor>& parameters) {
  if (open_) return;
  for (const torch::Tensor& parameter : parameters) {
    parameter.mutable_grad().reset();
    not_finite_.erase(parameter.unsafeGetTensorImpl());
  }
}

}  // namespace runner
