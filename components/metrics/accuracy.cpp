#include <stdexcept>

#include "components/metrics/labels.hpp"
#include "components/metrics/metric.hpp"

namespace runner {

// Not in the unnamed namespace, because the members of an aggregate with an optional of it are counted.
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
  std::optional<std::int64_t> ignore_index;
  std::optional<AccuracyLabels> labels;
};

constexpr auto describe(std::type_identity<Accuracy>) {
  return fields(
      field("ignore_index", &Accuracy::ignore_index,
            "Targets with this label are ignored; default: the loss's ignore_index."),
      field("labels", &Accuracy::labels, "What counts as correct in a multi-label task; default: \"all\"."));
}

class AccuracyMetric final : public Metric {
 public:
  AccuracyMetric(const Accuracy& settings, const MetricInputs& inputs)
      : settings_(settings),
        ignore_index_(settings.ignore_index.value_or(inputs.ignore_index)),
        targets_(inputs.targets) {}

  void reset() override { counts_ = {}; }
  void update(const torch::Tensor& output, const Batch& batch) override {
    if (several_labels(targets_, output)) return add_labels(output, batch.target);
    if (settings_.labels)
      throw std::runtime_error(
          "accuracy: \"labels\" is for multi-label tasks, and these targets have one class per example: "
          "delete it.");
    const auto [answers, labels] = answers_of(output, batch.target, ignore_index_);
    counts_.add(answers.eq(labels), labels.ne(ignore_index_));
  }
  std::vector<std::pair<std::string, double>> compute() const override {
    return {{"accuracy", counts_.share()}};
  }
  State accumulated() const override { return counts_.state(); }
  void merge(const State& other) override { counts_.merge(other); }

 private:
  void add_labels(const torch::Tensor& output, const torch::Tensor& target) {
    const LabelRows rows = label_rows(output, target, ignore_index_);
    const torch::Tensor right = rows.answers().eq(rows.yes);
    if (settings_.labels == AccuracyLabels::each) return counts_.add(right, rows.counted);
    counts_.add(right.logical_or(rows.counted.logical_not()).all(1), rows.counted.any(1));
  }

  Accuracy settings_;
  std::int64_t ignore_index_;
  std::optional<Targets> targets_;
  HitCounts counts_;
};

MetricFacts facts(const Accuracy&) {
  return {{{"accuracy", Better::max}}, {Targets::class_index, Targets::class_shares, Targets::binary}};
}

std::unique_ptr<Metric> build(const Accuracy& settings, const MetricInputs& inputs) {
  return std::make_unique<AccuracyMetric>(settings, inputs);
}

const Registration<MetricKind> registration{
    "accuracy", "Share of examples whose highest output is the right class.", &build};

}  // namespace
}  // namespace runner
