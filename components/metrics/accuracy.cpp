#include <stdexcept>

#include "components/metrics/metric.hpp"
#include "components/metrics/support/labels.hpp"

namespace runner {

// Not in the unnamed namespace: an optional of it is counted as a member of an aggregate.
namespace accuracy {

enum class AccuracyLabels { all, each };
constexpr auto describe(std::type_identity<AccuracyLabels>) {
  return choices(
      choice("all", AccuracyLabels::all, "an example is correct if all of its labels are (scikit-learn)"),
      choice("each", AccuracyLabels::each, "every label of every example counts on its own (torchmetrics)"));
}

}  // namespace accuracy

namespace {

using accuracy::AccuracyLabels;

struct Accuracy {
  std::int64_t ignore_index = -100;
  std::optional<AccuracyLabels> labels;
};

constexpr auto describe(std::type_identity<Accuracy>) {
  return fields(
      field("ignore_index", &Accuracy::ignore_index, "Targets with this label are ignored."),
      field("labels", &Accuracy::labels, "What counts as correct in a multi-label task; default: \"all\"."));
}

class AccuracyMetric final : public Metric {
 public:
  AccuracyMetric(const Accuracy& settings, std::optional<Targets> targets)
      : settings_(settings), targets_(targets) {}

  void reset() override { counts_ = {}; }
  void update(const torch::Tensor& output, const Batch& batch) override {
    if (several_labels(targets_, output)) return add_labels(output, batch.target);
    if (settings_.labels)
      throw std::runtime_error(
          "accuracy: \"labels\" is for several labels for each example, which these targets "
          "do not have: delete it.");
    const auto [answers, labels] = answers_of(output, batch.target);
    counts_.add(answers.eq(labels), labels.ne(settings_.ignore_index));
  }
  std::vector<std::pair<std::string, double>> compute() const override {
    return {{"accuracy", counts_.share()}};
  }
  State accumulated() const override { return counts_.state(); }
  void merge(const State& other) override { counts_.merge(other); }

 private:
  void add_labels(const torch::Tensor& output, const torch::Tensor& target) {
    const LabelRows rows = label_rows(output, target, settings_.ignore_index);
    const torch::Tensor right = rows.answers().eq(rows.yes);
    if (settings_.labels == AccuracyLabels::each) return counts_.add(right, rows.counted);
    counts_.add(right.logical_or(rows.counted.logical_not()).all(1), rows.counted.any(1));
  }

  Accuracy settings_;
  std::optional<Targets> targets_;
  HitCounts counts_;
};

MetricFacts facts(const Accuracy&) {
  return {{{"accuracy", Better::max}}, {Targets::class_index, Targets::class_shares, Targets::binary}};
}

std::unique_ptr<Metric> build(const Accuracy& settings, const MetricInputs& inputs) {
  return std::make_unique<AccuracyMetric>(settings, inputs.targets);
}

const Registration<MetricKind> registration{
    "accuracy", "Share of examples whose highest output is the right class.", &build};

}  // namespace
}  // namespace runner
