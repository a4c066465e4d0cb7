#include "runner/accelerator/gradient_window.hpp"

#include <torch/utils.h>

namespace runner {

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
  engine_.backward(loss, last(), keep_graph);
  if (last()) complete();
}

// What is complete is not to be summed over the ranks or unscaled a second time.
void GradientWindow::open() {
  const bool reused = !engine_.world().alone();  // the memory of gradients that were exchanged
  for (const auto& [name, tensor] : engine_.weights().held_parameters()) {
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
  finite_ = engine_.complete_gradients() && finite_;
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

void GradientWindow::clear(const std::vector<torch::Tensor>& parameters) {
  if (open_) return;
  for (const torch::Tensor& parameter : parameters) parameter.mutable_grad().reset();
  finite_ = true;
}

}  // namespace runner
