#include <ATen/ops/cross_entropy_loss.h>

#include <stdexcept>

#include "components/losses/loss.hpp"
#include "registry/log.hpp"

namespace runner {
namespace {

struct CrossEntropy {
  double label_smoothing = 0.0;
  std::vector<double> class_weights;
  std::int64_t ignore_index = -100;
};

constexpr auto describe(std::type_identity<CrossEntropy>) {
  return fields(
      field("label_smoothing", &CrossEntropy::label_smoothing,
            "Share of the target spread evenly over all classes.", within(0, 1)),
      field("class_weights", &CrossEntropy::class_weights,
            "How much each class counts, one number for each; none: all the same.", at_least(0)),
      field("ignore_index", &CrossEntropy::ignore_index, "Targets with this label count for nothing."));
}

bool are_labels(const torch::Tensor& target) { return !target.is_floating_point(); }

// Outputs are [examples, classes, ..]; targets are labels [examples, ..], or shares of each class in the
// outputs' shape.
class CrossEntropyLoss final : public Loss {
 public:
  CrossEntropyLoss(const CrossEntropy& settings, std::int64_t classes)
      : settings_(settings), classes_(classes) {
    const auto given = static_cast<std::int64_t>(settings.class_weights.size());
    if (given == 0) return;
    if (classes > 0 && given != classes) {
      throw std::runtime_error(
          log::format("loss.class_weights has {} numbers, but the data has {} classes: give one for each.",
                      given, classes));
    }
    weights_ = torch::tensor(settings.class_weights, torch::kFloat64);
  }

  torch::Tensor sum(const torch::Tensor& output, const Batch& batch) const override {
    require_fitting_shapes(output, batch.target);
    // Exponentials of 16-bit numbers lose the small probabilities that the loss is about.
    const torch::Tensor scores = output.element_size() < 4 ? output.to(torch::kFloat32) : output;
    const bool labels = are_labels(batch.target);
    if (labels && batch.target.is_cpu()) require_known_labels(batch.target, output.size(1));
    return at::cross_entropy_loss(scores,
                                  labels ? batch.target.to(torch::kInt64) : batch.target.to(scores.dtype()),
                                  weights_.defined() ? weights_.to(scores.options()) : torch::Tensor{},
                                  at::Reduction::Sum, settings_.ignore_index, settings_.label_smoothing);
  }

  double weight(const Batch& batch) const override {
    const torch::Tensor& target = batch.target;
    if (!are_labels(target)) {
      const auto shares = static_cast<double>(target.numel());
      return target.dim() > 1 ? shares / static_cast<double>(target.size(1)) : shares;
    }
    if (classes_ > 0 && target.is_cpu()) require_known_labels(target, classes_);
    const torch::Tensor counted = target.ne(settings_.ignore_index);
    if (!weights_.defined()) return counted.sum().item<double>();
    return weights_.to(target.device())
        .index({target.masked_select(counted).to(torch::kInt64)})
        .sum()
        .item<double>();
  }

 private:
  void require_fitting_shapes(const torch::Tensor& output, const torch::Tensor& target) const {
    if (output.dim() < 2) {
      throw std::runtime_error(log::format(
          "cross_entropy needs outputs of the shape [examples, classes, ..], but the model gives {}.",
          output.sizes()));
    }
    std::vector<std::int64_t> expected = output.sizes().vec();
    if (are_labels(target)) expected.erase(expected.begin() + 1);
    if (target.sizes() != at::IntArrayRef(expected)) {
      throw std::runtime_error(log::format(
          "cross_entropy: for outputs of the shape {} it needs {} of the shape {}, but the targets are {}.",
          output.sizes(), are_labels(target) ? "labels" : "class shares", at::IntArrayRef(expected),
          target.sizes()));
    }
    if (weights_.defined() && weights_.size(0) != output.size(1)) {
      throw std::runtime_error(
          log::format("loss.class_weights has {} numbers, but the model gives {} classes.", weights_.size(0),
                      output.size(1)));
    }
  }

  // The kernel itself would die with an assertion that names neither label nor remedy.
  void require_known_labels(const torch::Tensor& target, std::int64_t classes) const {
    if (target.numel() == 0) return;
    const auto outside =
        target.lt(0).logical_or(target.ge(classes)).logical_and(target.ne(settings_.ignore_index));
    if (!outside.any().item<bool>()) return;
    throw std::runtime_error(
        log::format("A target has the label {}, but there are {} classes (0 to {}): the model's number of "
                    "classes, or the "
                    "dataset's labels, are wrong.",
                    target.masked_select(outside)[0].item<std::int64_t>(), classes, classes - 1));
  }

  CrossEntropy settings_;
  std::int64_t classes_;
  torch::Tensor weights_;  // undefined: all classes count the same
};

std::unique_ptr<Loss> build(const CrossEntropy& settings, const LossInputs& inputs) {
  return std::make_unique<CrossEntropyLoss>(settings, inputs.data.classes);
}

const Registration<LossKind> registration{
    "cross_entropy", "For classification: the negative log of the probability given to the right class.",
    &build};

}  // namespace
}  // namespace runner
