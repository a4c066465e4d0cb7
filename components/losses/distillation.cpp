#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/kl_div.h>

#include <stdexcept>

#include "components/losses/class_targets.hpp"
#include "components/losses/loss.hpp"
#include "components/models/weights/load_weights.hpp"
#include "registry/base/log.hpp"

namespace runner {
namespace {

struct Distillation {
  Part<ModelKind> teacher;
  double temperature = 4.0;
  double hard = 0.5;
  double label_smoothing = 0.0;
  std::int64_t ignore_index = -100;
};

constexpr auto describe(std::type_identity<Distillation>) {
  return fields(
      field("teacher", &Distillation::teacher,
            "The model to learn from, with its weights: { name = \"resnet50\", weights = "
            "\"teacher.safetensors\" }.",
            required()),
      field("temperature", &Distillation::temperature,
            "What the outputs of both models are divided by; a higher one gives wrong classes more weight.",
            above(0)),
      field("hard", &Distillation::hard,
            "Weight of the cross entropy with the targets; the rest is the weight of the teacher's outputs.",
            within(0, 1)),
      field("label_smoothing", &Distillation::label_smoothing,
            "Share of the target spread evenly over all classes, in the ordinary cross entropy.",
            within(0, 1)),
      field("ignore_index", &Distillation::ignore_index, "Targets with this label are ignored."));
}

void check(const Distillation& settings, Report& report) {
  const ModelCommon& common = settings.teacher.common;
  if (!common.weights) report.error("teacher", "needs weights: an untrained model has nothing to teach");
  if (!common.replace.empty())
    report.error("teacher", "cannot replace parts: all of it must have been trained");
  if (!common.freeze.empty()) report.error("teacher", "is never trained: freeze has no effect");
  if (settings.hard == 1)
    report.error("hard", "of 1 does not use the teacher at all: use cross_entropy instead");
  if (settings.hard == 0 && settings.label_smoothing > 0)
    report.error("label_smoothing", "has no effect with hard = 0");
}

// Hinton, Vinyals and Dean 2015: hard CE(outputs, targets) + (1 - hard) T² KL(softmax(teacher / T),
// softmax(outputs / T)).
class DistillationLoss final : public Loss {
 public:
  DistillationLoss(const Distillation& settings, std::shared_ptr<Model> teacher, std::int64_t classes)
      : settings_(settings),
        teacher_(std::move(teacher)),
        targets_({"distillation", classes, settings.ignore_index}) {}

  torch::Tensor sum(const torch::Tensor& output, const Batch& batch) const override {
    targets_.require_fitting(output, batch.target, /*shares_allowed=*/true);
    const torch::Tensor scores = at_least_32_bits(output);
    const torch::Tensor soft = (1 - settings_.hard) * from_teacher(scores, batch);
    if (settings_.hard == 0) return soft;
    const auto type = are_labels(batch.target) ? torch::kInt64 : scores.scalar_type();
    return soft + settings_.hard * at::cross_entropy_loss(scores, batch.target.to(type), {},
                                                          at::Reduction::Sum, settings_.ignore_index,
                                                          settings_.label_smoothing);
  }

  double weight(const Batch& batch) const override { return targets_.weight(batch.target); }

 private:
  torch::Tensor from_teacher(const torch::Tensor& scores, const Batch& batch) const {
    const double temperature = settings_.temperature;
    const torch::Tensor taught = (answer(scores, batch) / temperature).log_softmax(1);
    const torch::Tensor own = (scores / temperature).log_softmax(1);
    torch::Tensor distance = at::kl_div(own, taught, at::Reduction::None, /*log_target=*/true).sum(1);
    if (are_labels(batch.target)) {
      const torch::Tensor labels = batch.target.to(torch::kInt64);  // of bytes, 156 would equal -100
      distance = distance.masked_fill(labels.eq(settings_.ignore_index), 0);
    }
    return temperature * temperature * distance.sum();
  }

  torch::Tensor answer(const torch::Tensor& scores, const Batch& batch) const {
    const torch::NoGradGuard no_grad;
    const torch::Device device = batch.input.device();
    const auto weights = teacher_->parameters();
    if (!weights.empty() && weights.front().device() != device) teacher_->to(device);
    teacher_->eval();
    const torch::Tensor output = teacher_->forward(batch);
    if (output.sizes() != scores.sizes()) {
      throw std::runtime_error(log::format(
          "The teacher gives outputs of the shape {}, the model {}: both must have the same classes.",
          output.sizes(), scores.sizes()));
    }
    return output.to(scores.dtype());
  }

  Distillation settings_;
  std::shared_ptr<Model> teacher_;
  ClassTargets targets_;
};

LossFacts facts(const Distillation& settings) {
  return {.targets = {Targets::class_index, Targets::class_shares}, .ignore_index = settings.ignore_index};
}

std::unique_ptr<Loss> build(const Distillation& settings, const LossInputs& inputs) {
  std::shared_ptr<Model> teacher = build_structure(settings.teacher, inputs.data);
  const auto loaded = apply_common(*teacher, settings.teacher.common);
  if (loaded) log::info("The teacher: {}", loaded->text());
  return std::make_unique<DistillationLoss>(settings, std::move(teacher), inputs.data.classes);
}

const Registration<LossKind> registration{
    "distillation", "Knowledge distillation: learns from a teacher's outputs and from the targets.", &build};

}  // namespace
}  // namespace runner
