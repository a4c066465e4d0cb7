#include "components/losses/class_targets.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "registry/base/log.hpp"

namespace runner {

namespace {

// Reads labels directly: tensor operators would cost several calls for each check, in every step.
struct PlainLabels {
  explicit PlainLabels(const torch::Tensor& labels)
      : held((labels.scalar_type() == torch::kInt64 ? labels : labels.to(torch::kInt64)).contiguous()),
        values(held.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(held.numel())) {}

  torch::Tensor held;
  std::span<const std::int64_t> values;
};

}  // namespace

namespace {

// For labels whose number of dimensions tells what was meant.
std::string remedy(const torch::Tensor& output, const torch::Tensor& target) {
  if (!are_labels(target)) return "";
  if (output.dim() == 3 && target.sizes() == output.sizes().slice(0, 2))
    return " For the next token at each position, as in a language model, use lm_cross_entropy.";
  if (target.dim() == 1 && output.dim() > 2)
    return " The data has one label for each example: choose a model that gives one output for each class.";
  return "";
}

}  // namespace

ClassTargets::ClassTargets(Settings settings) : settings_(std::move(settings)) {
  const auto given = static_cast<std::int64_t>(settings_.weights.size());
  if (given == 0) return;
  if (settings_.classes > 0 && given != settings_.classes) {
    throw std::runtime_error(
        log::format("loss.{} has {} numbers, but the data "
                    "has {} classes: give one for each.",
                    settings_.weights_key, given, settings_.classes));
  }
  weights_ = torch::tensor(settings_.weights, torch::kFloat64);
}

void ClassTargets::require_fitting(const torch::Tensor& output, const torch::Tensor& target,
                                   bool shares_allowed) const {
  if (output.dim() < 2) {
    throw std::runtime_error(
        log::format("{} needs outputs of the shape [examples, classes, ..], "
                    "but the model gives {}.",
                    settings_.loss, output.sizes()));
  }
  const bool labels = are_labels(target);
  if (!labels && !shares_allowed) {
    throw std::runtime_error(log::format("{} needs labels as targets (whole numbers), but they are {}.",
                                         settings_.loss, target.dtype().name()));
  }
  std::vector<std::int64_t> expected = output.sizes().vec();
  if (labels) expected.erase(expected.begin() + 1);
  if (target.sizes() != at::IntArrayRef(expected)) {
    throw std::runtime_error(
        log::format("{}: for outputs of the shape {} it needs {} of the shape {}, but the "
                    "targets are {}.{}",
                    settings_.loss, output.sizes(), labels ? "labels" : "class shares",
                    at::IntArrayRef(expected), target.sizes(), remedy(output, target)));
  }
  if (weights_.defined() && weights_.size(0) != output.size(1)) {
    throw std::runtime_error(log::format("loss.{} has {} numbers, but the model gives {} classes.",
                                         settings_.weights_key, weights_.size(0), output.size(1)));
  }
  if (labels) require_known(target, output.size(1));
}

torch::Tensor ClassTargets::weights_like(const torch::Tensor& scores) const {
  if (!weights_.defined()) return {};
  // Once for each kind of scores: a copy in every pass would make the host wait, and cannot be in a graph.
  if (!placed_weights_.defined() || !placed_weights_.options().type_equal(scores.options()) ||
      placed_weights_.device() != scores.device())
    placed_weights_ = weights_.to(scores.options());
  return placed_weights_;
}

double ClassTargets::counted(const torch::Tensor& labels) const {
  if (settings_.classes > 0) require_known(labels, settings_.classes);
  if (!labels.is_cpu()) return labels.to(torch::kInt64).ne(settings_.ignore_index).sum().item<double>();
  const PlainLabels plain(labels);
  const auto ignored = std::ranges::count(plain.values, settings_.ignore_index);
  return static_cast<double>(static_cast<std::int64_t>(plain.values.size()) - ignored);
}

double ClassTargets::weight(const torch::Tensor& target) const {
  if (!are_labels(target)) {
    const auto shares = static_cast<double>(target.numel());
    return target.dim() > 1 ? shares / static_cast<double>(target.size(1)) : shares;
  }
  if (!weights_.defined()) return counted(target);
  require_known(target, weights_.size(0));
  // Of bytes, 156 would equal an ignore_index of -100.
  const torch::Tensor labels = target.to(torch::kInt64);
  const torch::Tensor used = labels.masked_select(labels.ne(settings_.ignore_index));
  return weights_.to(target.device()).index({used}).sum().item<double>();
}

// The kernels would fail with an assertion that names neither the label nor a remedy. Reading labels from
// another device would wait for it; weight() has checked them before they were moved there.
void ClassTargets::require_known(const torch::Tensor& labels, std::int64_t classes) const {
  if (!labels.is_cpu()) return;
  const PlainLabels plain(labels);
  const auto outside = std::ranges::find_if(plain.values, [&](std::int64_t label) {
    return (label < 0 || label >= classes) && label != settings_.ignore_index;
  });
  if (outside == plain.values.end()) return;
  throw std::runtime_error(
      log::format("A target has the label {}, but there are {} classes (0 to {}): the model's number of "
                  "classes, or the dataset's labels, are wrong.",
                  *outside, classes, classes - 1));
}

}  // namespace runner
