// A metric of your own: the share of examples whose right class gets at least a certain probability.
#include "components/metrics/metric.hpp"

namespace {

using namespace runner;

struct MyMetric {
  double probability = 0.5;
};

constexpr auto describe(std::type_identity<MyMetric>) {
  return fields(
      field("probability", &MyMetric::probability, "What the right class has to get.", within(0, 1)));
}

// Known before anything is built: what it reports, which direction is better, and which targets it
// understands.
MetricFacts facts(const MyMetric&) { return {{{"my_metric", Better::max}}, {Targets::class_index}}; }

// Sums, and nothing else, so that the result is exact for any batch size and any number of ranks.
class MyMetricShare final : public Metric {
 public:
  explicit MyMetricShare(const MyMetric& settings) : settings_(settings) {}

  void reset() override { hits_ = examples_ = 0; }
  void update(const torch::Tensor& output, const Batch& batch) override {
    const torch::Tensor right = output.softmax(1).gather(1, batch.target.unsqueeze(1));
    hits_ += right.ge(settings_.probability).sum().item<std::int64_t>();
    examples_ += batch.target.size(0);
  }
  std::vector<std::pair<std::string, double>> compute() const override {
    return {{"my_metric", static_cast<double>(hits_) / static_cast<double>(examples_)}};
  }

  State accumulated() const override { return {.integers = {{"hits", hits_}, {"examples", examples_}}}; }
  void merge(const State& other) override {
    hits_ += other.integers.at("hits");
    examples_ += other.integers.at("examples");
  }

 private:
  MyMetric settings_;
  std::int64_t hits_ = 0, examples_ = 0;
};

std::unique_ptr<Metric> build(const MyMetric& settings, const MetricInputs&) {
  return std::make_unique<MyMetricShare>(settings);
}

const Registration<MetricKind> registration{"my_metric", "Share of examples that are right with confidence.",
                                            &build};

}  // namespace
