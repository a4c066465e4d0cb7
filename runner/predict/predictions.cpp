#include "runner/predict/predictions.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <stdexcept>

#include "components/contract/targets.hpp"
#include "components/torch/shape_text.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

Batch part_of(const Batch& batch, std::int64_t first, std::int64_t count) {
  Batch part;
  part.input = batch.input.narrow(0, first, count);
  part.target = torch::zeros({count}, torch::kInt64);  // not used, but every batch has a target
  for (const auto& [name, tensor] : batch.extra) part.extra[name] = tensor.narrow(0, first, count);
  return part;
}

// The probabilities of the classes; undefined if the outputs are not classes.
torch::Tensor probabilities(const torch::Tensor& output, std::int64_t classes) {
  if (classes > 1 && output.dim() == 2 && output.size(1) == classes) return torch::softmax(output, 1);
  const bool single = output.dim() == 1 || (output.dim() == 2 && output.size(1) == 1);
  if (classes != 2 || !single) return {};
  const torch::Tensor second = torch::sigmoid(output.reshape({-1}));
  return torch::stack({1 - second, second}, 1);
}

// Whether each output is an independent yes/no label. The data alone does not say; the loss does.
bool has_labels(const Recipe& recipe, const DataSpec& data) {
  const auto targets = shared_targets(recipe.loss.facts().targets, possible_targets(data));
  return targets && *targets == std::vector{Targets::binary};
}

class Predictor {
 public:
  explicit Predictor(TrainedRun& run)
      : run_(run), interpreter_(run.interpreter()), labels_(has_labels(run.recipe, run.data)) {}

  void add(const std::string& input) {
    const Batch batch = interpreter_->read({&input, 1});
    const std::int64_t examples = batch.size();
    const auto& loader = run_.recipe.loader;
    const std::int64_t most = loader.eval_batch_size.value_or(loader.batch_size);
    for (std::int64_t first = 0; first < examples; first += most) {
      Batch part = part_of(batch, first, std::min(most, examples - first));
      require_type(part, input);
      const OffloadedPass pass = run_.pass();
      const torch::Tensor output = output_for(part, input).to(torch::kCPU, torch::kFloat64);
      for (std::int64_t i = 0; i < output.size(0); ++i) {
        found_.push_back({examples == 1 ? input : input + " row " + std::to_string(first + i + 1)});
        interpret(output.narrow(0, i, 1), found_.back());
      }
    }
  }

  std::vector<Prediction> found() { return std::move(found_); }

 private:
  // Whole numbers are numbers, too, but not the other way round.
  void require_type(Batch& batch, const std::string& input) const {
    const bool numbers = c10::isFloatingType(run_.data.input_type);
    if (numbers) batch.input = batch.input.to(run_.data.input_type);
    if (numbers || !batch.input.is_floating_point()) return;
    throw std::runtime_error(
        log::format("{}: the inputs are floating-point numbers, but the run was trained with whole numbers.",
                    escaped_name(input)));
  }

  // Some models take examples of any shape, so the shape is only reported if the model fails.
  torch::Tensor output_for(Batch& batch, const std::string& input) const {
    const std::vector<std::int64_t> shape = batch.input.sizes().slice(1).vec();
    try {
      return run_.engine.predict(batch);
    } catch (const std::exception&) {
      if (shape == run_.data.input_shape) throw;
      throw std::runtime_error(
          log::format("{}: the model cannot take examples of the shape {}; it was trained with {}.",
                      escaped_name(input), shape_text(shape), shape_text(run_.data.input_shape)));
    }
  }

  void interpret(const torch::Tensor& output, Prediction& prediction) const {
    if (!output.isfinite().all().item<bool>()) {
      throw std::runtime_error(
          log::format("{}: the model's output is not a finite number, so there is no prediction. Are values "
                      "of this input "
                      "far from those of the training set, or did the run diverge?",
                      escaped_name(prediction.input)));
    }
    const bool two_classes = run_.data.classes == 2 && output.numel() == 1;
    if (labels_ && !two_classes && output.dim() <= 2) return interpret_labels(output, prediction);
    const torch::Tensor shares = probabilities(output, run_.data.classes);
    if (shares.defined()) {
      const auto [sorted, order] = shares[0].sort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
      for (std::int64_t i = 0; i < sorted.size(0); ++i) {
        prediction.classes.emplace_back(run_.data.class_name(order[i].item<std::int64_t>()),
                                        sorted[i].item<double>());
      }
    } else if (run_.data.classes == 0 && output.dim() <= 2) {
      const torch::Tensor values =
          (output.reshape({-1}) * run_.data.target_deviation + run_.data.target_mean).contiguous();
      prediction.values.assign(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
    } else {
      throw std::runtime_error(log::format(
          "The model gives outputs of the shape {}, which are neither classes nor numbers; `runner sample` "
          "continues text.",
          output.sizes()));
    }
  }

  void interpret_labels(const torch::Tensor& output, Prediction& prediction) const {
    const torch::Tensor shares = torch::sigmoid(output.reshape({-1}));
    const std::int64_t first = shares.size(0) == 1 ? 1 : 0;  // a single output is the probability of target 1
    for (std::int64_t i = 0; i < shares.size(0); ++i)
      prediction.labels.emplace_back(run_.data.class_name(first + i), shares[i].item<double>());
  }

  TrainedRun& run_;
  std::unique_ptr<Interpreter> interpreter_;
  const bool labels_;
  std::vector<Prediction> found_;
};

}  // namespace

std::vector<Prediction> predict(TrainedRun& run, std::span<const std::string> inputs) {
  Predictor predictor(run);
  for (const std::string& input : inputs) predictor.add(input);
  return predictor.found();
}

}  // namespace runner
