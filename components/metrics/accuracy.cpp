#include "components/metrics/metric.hpp"
#include "components/metrics/support/labels.hpp"

namespace runner {
namespace {

struct Accuracy {
  std::int64_t ignore_index = -100;
};

constexpr auto describe(std::type_identity<Accuracy>) {
  return fields(field("ignore_index", &Accuracy::ignore_index, "Targets with this label are not counted."));
}

class AccuracyMetric final : public Metric {
 public:
  explicit AccuracyMetric(const Accuracy& settings) : settings_(settings) {}

  std::vector<std::string> names() const override { return {"accuracy"}; }
  void reset() override { counts_ = {}; }
  void update(const torch::Tensor& output, const Batch& batch) override {
    const auto [answers, labels] = answers_of(output, batch.target);
    counts_.add(answers.eq(labels), labels.ne(settings_.ignore_index));
  }
  std::vector<std::pair<std::string, double>> compute() const override {
    return {{"accuracy", counts_.share()}};
  }

 private:
  Accuracy settings_;
  HitCounts counts_;
};

std::unique_ptr<Metric> build(const Accuracy& settings, const MetricInputs&) {
  return std::make_unique<AccuracyMetric>(settings);
}

const Registration<MetricKind> registration{
    "accuracy", "Share of examples whose highest output is the right class.", &build};

}  // namespace
}  // namespace runner
