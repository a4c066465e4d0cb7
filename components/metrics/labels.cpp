#include "components/metrics/labels.hpp"

#include <stdexcept>

#include "components/metrics/accumulate.hpp"
#include "registry/base/log.hpp"

namespace runner {

namespace {

// As class 0 or 1, from targets of any type.
torch::Tensor yes_or_no(const torch::Tensor& target, const torch::Tensor& output) {
  if (target.numel() != output.numel() || target.size(0) != output.size(0)) {
    throw std::runtime_error(
        log::format("The metric compares one score for each example with its label, but the outputs are {} "
                    "and the targets {}.",
                    output.sizes(), target.sizes()));
  }
  const torch::Tensor flat = target.flatten();
  return flat.is_floating_point() ? flat.gt(0.5).to(torch::kInt64) : flat.to(torch::kInt64);
}

// The right class of each example, for any kind of output; every one is a class, or ignored.
torch::Tensor known_labels(const torch::Tensor& target, const torch::Tensor& output,
                           std::int64_t ignore_index) {
  const torch::Tensor labels = is_one_score(output) ? yes_or_no(target, output) : labels_of(target, output);
  require_known_labels(labels, classes_of(output), ignore_index);
  return labels;
}

}  // namespace

torch::Tensor labels_of(const torch::Tensor& target, const torch::Tensor& output) {
  std::vector<std::int64_t> expected = output.sizes().vec();
  if (output.dim() > 1 && target.is_floating_point() && target.sizes() == output.sizes())
    return target.argmax(1);
  if (expected.size() > 1) expected.erase(expected.begin() + 1);
  if (output.dim() < 2 || target.is_floating_point() || target.sizes() != at::IntArrayRef(expected)) {
    throw std::runtime_error(log::format(
        "The metric compares outputs [examples, classes, ..] with labels, but the outputs are {} and the "
        "targets {} of type {}.",
        output.sizes(), target.sizes(), target.dtype().name()));
  }
  return target.to(torch::kInt64);
}

bool is_one_score(const torch::Tensor& output) {
  return output.dim() == 1 || (output.dim() == 2 && output.size(1) == 1);
}

std::int64_t classes_of(const torch::Tensor& output) { return is_one_score(output) ? 2 : output.size(1); }

void require_known_labels(const torch::Tensor& labels, std::int64_t classes, std::int64_t ignore_index) {
  const torch::Tensor outside =
      labels.lt(0).logical_or(labels.ge(classes)).logical_and(labels.ne(ignore_index));
  if (!outside.any().item<bool>()) return;
  throw std::runtime_error(log::format(
      "A target has the label {}, but there are {} classes (0 to {}). If it marks targets to ignore, "
      "set it as ignore_index of the loss or of the metric; otherwise the model's number of classes, or the "
      "dataset's labels, are wrong.",
      labels.masked_select(outside)[0].item<std::int64_t>(), classes, classes - 1));
}

Answers answers_of(const torch::Tensor& output, const torch::Tensor& target, std::int64_t ignore_index) {
  const torch::Tensor labels = known_labels(target, output, ignore_index);  // first: it checks the shapes
  return {is_one_score(output) ? output.flatten().gt(0).to(torch::kInt64) : output.argmax(1), labels};
}

Rows rows_of(const torch::Tensor& output, const torch::Tensor& target, std::int64_t ignore_index) {
  const torch::Tensor labels = known_labels(target, output, ignore_index).flatten();
  const torch::Tensor scores = output.to(torch::kFloat64);
  if (is_one_score(output)) return {scores.reshape({-1, 1}), labels};
  return {scores.movedim(1, -1).reshape({-1, output.size(1)}), labels};
}

bool several_labels(std::optional<Targets> targets, const torch::Tensor& output) {
  return targets == Targets::binary && !is_one_score(output);
}

LabelRows label_rows(const torch::Tensor& output, const torch::Tensor& target, std::int64_t ignore_index) {
  const torch::NoGradGuard no_grad;
  if (target.sizes() != output.sizes()) {
    throw std::runtime_error(
        log::format("The metric compares each output with a binary target, but the outputs are {} and the "
                    "targets {}.",
                    output.sizes(), target.sizes()));
  }
  const auto rows = [&](const torch::Tensor& tensor) {
    return tensor.movedim(1, -1).reshape({-1, output.size(1)});
  };
  const torch::Tensor right = rows(target);
  return {rows(output.to(torch::kFloat64)), right.gt(0.5), right.ne(ignore_index)};
}

void HitCounts::add(const torch::Tensor& hit, const torch::Tensor& counted) {
  const torch::NoGradGuard no_grad;
  add_to(hits_, hit.logical_and(counted).sum());
  add_to(total_, counted.sum());
}

State HitCounts::state() const {
  if (!total_.defined()) return {};
  return {.tensors = {{"hits", hits_}, {"total", total_}}};
}

void HitCounts::merge(const State& other) {
  if (other.empty()) return;
  StateReader saved(other);
  add_to(hits_, saved.tensor("hits"));
  add_to(total_, saved.tensor("total"));
  saved.finish();
}

double HitCounts::share() const {
  const double total = total_.defined() ? total_.item<double>() : 0;
  return total > 0 ? hits_.item<double>() / total : 0;
}

}  // namespace runner
