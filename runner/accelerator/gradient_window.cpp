#include "runner/accelerator/gradient_window.hpp"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/utils.h>

#include <algorithm>
#include <stdexcept>

namespace runner {

namespace {

// The user's code may have cleared gradients itself, also by setting them to zero.
bool cleared(const torch::Tensor& gradient) { return !gradient.defined() || !gradient.any().item<bool>(); }

}  // namespace

class GradientWindow::Watch final : public torch::autograd::FunctionPostHook {
 public:
  Watch(GradientWindow& window, const torch::TensorImpl* parameter)
      : window_(window), parameter_(parameter) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    const std::lock_guard lock(window_.mutex_);
    if (!window_.in_backward_) window_.not_shared_.insert(parameter_);
    return outputs;
  }

 private:
  GradientWindow& window_;
  const torch::TensorImpl* const parameter_;
};

GradientWindow::~GradientWindow() { unwatch(); }

void GradientWindow::unwatch() {
  for (auto& [parameter, node] : watched_)
    if (node.first) node.first->del_post_hook(node.second);
  watched_.clear();
}

// A single process has nothing to hold back.
GradientWindow::Sync GradientWindow::set_sync(Sync sync) {
  return std::exchange(sync_, sync == Sync::hold && engine_.world().alone() ? Sync::by_count : sync);
}

void GradientWindow::watch() {
  if (engine_.world().alone()) return;
  for (const auto& [name, parameter] : engine_.weights().held_parameters()) {
    const auto* key = parameter.unsafeGetTensorImpl();
    const auto node = torch::autograd::impl::grad_accumulator(parameter);  // null for a frozen parameter
    auto& known = watched_[key];
    if (!node || known.first == node) continue;
    known = {node, node->add_post_hook(std::make_unique<Watch>(*this, key))};
  }
}

void GradientWindow::require_shared(const std::vector<torch::Tensor>& parameters) {
  for (const torch::Tensor& parameter : parameters) {
    const auto* key = parameter.unsafeGetTensorImpl();
    if (!not_shared_.contains(key)) continue;
    if (cleared(parameter.grad())) {
      not_shared_.erase(key);
      continue;
    }
    throw std::logic_error(
        "The gradients of this optimizer come from loss.backward(), so the other ranks do not have them and "
        "the weights of the ranks would differ: call accelerator.backward(loss) instead.");
  }
}

void GradientWindow::next_micro_batch(std::int64_t micro_batches, double weight) {
  if (open_ && held_) return;
  if (left_ == 0) {
    if (open_) complete();
    left_ = micro_batches;
    weight_ = weight;
  }
  --left_;
}

void GradientWindow::backward(const torch::Tensor& loss, bool keep_graph) {
  if (!open_) open();
  if (sync_ == Sync::hold && left_ == 0) held_ = true;
  in_backward_ = true;
  try {
    engine_.backward(loss, last(), keep_graph);
  } catch (...) {
    in_backward_ = false;
    abandon();
    throw;
  }
  in_backward_ = false;
  if (last()) complete();
}

// The gradients of this window are lost, because some parameters have theirs and others do not; those of
// earlier windows are as they were.
void GradientWindow::abandon() {
  engine_.discard_gradients();
  for (auto& [parameter, before] : complete_) parameter.mutable_grad() = before;
  complete_.clear();
  open_ = held_ = false;
  left_ = 0;
}

void GradientWindow::restart() {
  abandon();
  not_finite_.clear();
  not_shared_.clear();
  engine_.discard_gradients();
}

// Sets complete gradients aside, so that they are not summed over the ranks or unscaled a second time.
void GradientWindow::open() {
  watch();
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
  open_ = held_ = false;
  if (sync_ == Sync::now) left_ = 0;
}

bool GradientWindow::ready() {
  if (left_ > 0) return false;
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
    not_shared_.erase(parameter.unsafeGetTensorImpl());
  }
}

}  // namespace runner
