#include <cmath>

#include "components/metrics/metric.hpp"
#include "components/metrics/support/labels.hpp"

namespace runner {
namespace {

struct CalibrationError {
  std::int64_t bins = 15;
  std::int64_t ignore_index = -100;
};

constexpr auto describe(std::type_identity<CalibrationError>) {
  return fields(
      field("bins", &CalibrationError::bins,
            "Into how many equal parts of 0 to 1 the confidences are sorted.", at_least(1)),
      field("ignore_index", &CalibrationError::ignore_index, "Targets with this label are not counted."));
}

// Guo et al. 2017: the confidence is the probability of the answer; bin b holds those above (b - 1) / bins up
// to b / bins; the error is the mean over bins, by their examples, of |share of right answers - mean
// confidence|.
class CalibrationErrorMetric final : public Metric {
 public:
  explicit CalibrationErrorMetric(const CalibrationError& settings) : settings_(settings) {}

  std::vector<std::string> names() const override { return {"expected_calibration_error"}; }
  void reset() override { gaps_ = torch::Tensor{}; }

  void update(const torch::Tensor& output, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    auto [scores, labels] = rows_of(output, batch.target);
    if (scores.size(1) == 1) scores = torch::cat({torch::zeros_like(scores), scores}, 1);
    const auto [confidence, answers] = scores.softmax(1).max(1);
    const auto bins = static_cast<double>(settings_.bins);
    const torch::Tensor bin = (confidence * bins).ceil().sub(1).clamp(0, bins - 1).to(torch::kInt64);
    const torch::Tensor gap = answers.eq(labels).to(torch::kFloat64) - confidence;
    // Columns: what is summed into the bins; rows that are not counted add nothing.
    const torch::Tensor columns = torch::stack({gap, torch::ones_like(gap)}, 1) *
                                  labels.ne(settings_.ignore_index).to(torch::kFloat64).unsqueeze(1);
    if (!gaps_.defined()) gaps_ = torch::zeros({settings_.bins, 2}, columns.options());
    gaps_.index_add_(0, bin, columns);
  }

  std::vector<std::pair<std::string, double>> compute() const override {
    double error = 0, examples = 0;
    if (gaps_.defined()) {
      error = gaps_.select(1, 0).abs().sum().item<double>();
      examples = gaps_.select(1, 1).sum().item<double>();
    }
    return {{names().front(), examples > 0 ? error / examples : 0}};
  }

 private:
  CalibrationError settings_;
  torch::Tensor gaps_;  // [bins, 2]: sum of (right - confidence), examples; undefined before the first batch
};

std::unique_ptr<Metric> build(const CalibrationError& settings, const MetricInputs&) {
  return std::make_unique<CalibrationErrorMetric>(settings);
}

const Registration<MetricKind> registration{
    "expected_calibration_error",
    "How far the confidence of the answers is from the share of them that is right, over bins of confidence.",
    &build};

}  // namespace
}  // namespace runner
