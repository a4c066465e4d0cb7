#include "components/metrics/mean_loss.hpp"
#include "components/metrics/metric.hpp"

namespace runner {
namespace {

struct LossMean {};

constexpr auto describe(std::type_identity<LossMean>) { return fields(); }

class LossMetric final : public Metric {
 public:
  explicit LossMetric(const Loss* loss) : loss_(loss) {}

  void reset() override { loss_.reset(); }
  void update(const torch::Tensor& output, const Batch& batch) override { loss_.add(output, batch); }
  std::vector<std::pair<std::string, double>> compute() const override { return {{"loss", loss_.mean()}}; }
  State accumulated() const override { return loss_.state(); }
  void merge(const State& other) override { loss_.merge(other); }

 private:
  MeanLoss loss_;
};

MetricFacts facts(const LossMean&) { return {.measures = {{"loss", Better::min}}}; }

std::unique_ptr<Metric> build(const LossMean&, const MetricInputs& inputs) {
  return std::make_unique<LossMetric>(inputs.loss);
}

const Registration<MetricKind> registration{"loss", "The mean of the recipe's loss.", &build};

}  // namespace
}  // namespace runner
