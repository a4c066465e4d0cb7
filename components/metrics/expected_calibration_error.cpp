#include <stdexcept>

#include "components/metrics/accumulate.hpp"
#include "components/metrics/labels.hpp"
#include "components/metrics/metric.hpp"

namespace runner {
namespace {

struct CalibrationError {
  std::int64_t bins = 15;
  std::optional<std::int64_t> ignore_index;
};

constexpr auto describe(std::type_identity<CalibrationError>) {
  return fields(
      field("bins", &CalibrationError::bins, "Number of bins of equal width from 0 to 1.", within(1, 1e6)),
      field("ignore_index", &CalibrationError::ignore_index,
            "Targets with this label are ignored; default: the loss's ignore_index."));
}

constexpr const char* metric_name = "expected_calibration_error";

// Guo et al. 2017: the confidence is the probability of the predicted class; bin b holds confidences above
// (b - 1) / bins up to b / bins; the error is the mean of |accuracy - mean confidence| over the bins,
// weighted by their number of examples.
class CalibrationErrorMetric final : public Metric {
 public:
  CalibrationErrorMetric(const CalibrationError& settings, const MetricInputs& inputs)
      : settings_(settings),
        ignore_index_(settings.ignore_index.value_or(inputs.ignore_index)),
        targets_(inputs.targets) {}

  void reset() override { gaps_ = torch::Tensor{}; }

  void update(const torch::Tensor& output, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    if (several_labels(targets_, output)) {
      throw std::runtime_error(
          "expected_calibration_error needs one class per example, but this is a multi-label task.");
    }
    auto [scores, labels] = rows_of(output, batch.target, ignore_index_);
    if (scores.size(1) == 1) scores = torch::cat({torch::zeros_like(scores), scores}, 1);
    const auto [confidence, answers] = scores.softmax(1).max(1);
    const auto bins = static_cast<double>(settings_.bins);
    // An output that is not finite makes the result NaN; it must not become an index out of range.
    const torch::Tensor bin =
        (confidence * bins).ceil().sub(1).nan_to_num(0).clamp(0, bins - 1).to(torch::kInt64);
    const torch::Tensor gap = answers.eq(labels).to(torch::kFloat64) - confidence;
    // The columns are summed into the bins; rows of ignored targets add nothing.
    const torch::Tensor columns = torch::stack({gap, torch::ones_like(gap)}, 1) *
                                  labels.ne(ignore_index_).to(torch::kFloat64).unsqueeze(1);
    if (!gaps_.defined()) gaps_ = torch::zeros({settings_.bins, 2}, columns.options());
    gaps_.index_add_(0, bin, columns);
  }

  State accumulated() const override {
    if (!gaps_.defined()) return {};
    return {.tensors = {{"gaps", gaps_.clone()}}};  // the sums are updated in place
  }
  void merge(const State& other) override {
    if (other.empty()) return;
    StateReader saved(other);
    add_to(gaps_, saved.tensor("gaps"));
    saved.finish();
  }

  std::vector<std::pair<std::string, double>> compute() const override {
    double error = 0, examples = 0;
    if (gaps_.defined()) {
      error = gaps_.select(1, 0).abs().sum().item<double>();
      examples = gaps_.select(1, 1).sum().item<double>();
    }
    return {{metric_name, examples > 0 ? error / examples : 0}};
  }

 private:
  CalibrationError settings_;
  std::int64_t ignore_index_;
  std::optional<Targets> targets_;
  torch::Tensor gaps_;  // [bins, 2]: sum of (right - confidence), examples; undefined before the first batch
};

// Binary targets are supported with one score per example, not in multi-label tasks: update() rejects those.
MetricFacts facts(const CalibrationError&) {
  return {{{metric_name, Better::min}}, {Targets::class_index, Targets::class_shares, Targets::binary}};
}

std::unique_ptr<Metric> build(const CalibrationError& settings, const MetricInputs& inputs) {
  return std::make_unique<CalibrationErrorMetric>(settings, inputs);
}

const Registration<MetricKind> registration{
    "expected_calibration_error",
    "Difference between confidence and accuracy, averaged over bins of confidence.", &build};

}  // namespace
}  // namespace runner
