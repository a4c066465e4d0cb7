#include <cmath>

#include "components/metrics/mean_loss.hpp"
#include "components/metrics/metric.hpp"

namespace runner {
namespace {

struct Perplexity {};

constexpr auto describe(std::type_identity<Perplexity>) { return fields(); }

class PerplexityMetric final : public Metric {
 public:
  explicit PerplexityMetric(const Loss* loss) : loss_(loss) {}

  void reset() override { loss_.reset(); }
  void update(const torch::Tensor& output, const Batch& batch) override { loss_.add(output, batch); }
  std::vector<std::pair<std::string, double>> compute() const override {
    return {{"perplexity", std::exp(loss_.mean())}};
  }
  State accumulated() const override { return loss_.state(); }
  void merge(const State& other) override { loss_.merge(other); }

 private:
  MeanLoss loss_;
};

MetricFacts facts(const Perplexity&) {
  return {.measures = {{"perplexity", Better::min}},
          .targets = {Targets::tokens, Targets::class_index, Targets::class_shares}};
}

std::unique_ptr<Metric> build(const Perplexity&, const MetricInputs& inputs) {
  return std::make_unique<PerplexityMetric>(inputs.loss);
}

const Registration<MetricKind> registration{
    "perplexity", "exp of the mean of the recipe's loss over all tokens of the set (with lm_cross_entropy).",
    &build};

}  // namespace
}  // namespace runner
