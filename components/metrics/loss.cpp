#include <stdexcept>

#include "components/metrics/metric.hpp"

namespace runner {
namespace {

struct LossMean {};

constexpr auto describe(std::type_identity<LossMean>) { return fields(); }

class LossMetric final : public Metric {
 public:
  explicit LossMetric(const Loss* loss) : loss_(loss) {}

  std::vector<std::string> names() const override { return {"loss"}; }

  void reset() override {
    sum_ = torch::Tensor{};
    weight_ = 0;
  }

  void update(const torch::Tensor& output, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    // In double: the result is then the same however the set was cut into batches.
    const torch::Tensor sum = loss_->sum(output, batch).to(torch::kFloat64);
    sum_ = sum_.defined() ? sum_ + sum : sum;
    weight_ += loss_->weight(batch);
  }

  std::vector<std::pair<std::string, double>> compute() const override {
    return {{"loss", weight_ > 0 ? sum_.item<double>() / weight_ : 0.0}};
  }

 private:
  const Loss* loss_;
  torch::Tensor sum_;  // undefined before the first batch
  double weight_ = 0;
};

std::unique_ptr<Metric> build(const LossMean&, const MetricInputs& inputs) {
  return std::make_unique<LossMetric>(inputs.loss);
}

const Registration<MetricKind> registration{"loss", "The mean of the recipe's loss.", &build};

}  // namespace
}  // namespace runner
