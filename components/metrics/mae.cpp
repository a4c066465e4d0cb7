#include "components/metrics/errors.hpp"
#include "components/metrics/metric.hpp"

namespace runner {
namespace {

struct Mae {};

constexpr auto describe(std::type_identity<Mae>) { return fields(); }

class MaeMetric final : public Metric {
 public:
  explicit MaeMetric(const DataSpec& data) : errors_("mae", data) {}

  void reset() override { errors_.reset(); }
  void update(const torch::Tensor& output, const Batch& batch) override { errors_.add(output, batch.target); }
  std::vector<std::pair<std::string, double>> compute() const override {
    if (errors_.examples() == 0) return {{"mae", 0.0}};
    return {{"mae", errors_.absolute().mean().item<double>() / errors_.examples()}};
  }
  State accumulated() const override { return errors_.state(); }
  void merge(const State& other) override { errors_.merge(other); }

 private:
  Errors errors_;
};

MetricFacts facts(const Mae&) { return {{{"mae", Better::min}}, {Targets::numbers}}; }

std::unique_ptr<Metric> build(const Mae&, const MetricInputs& inputs) {
  return std::make_unique<MaeMetric>(inputs.data);
}

const Registration<MetricKind> registration{"mae", "Mean absolute error.", &build};

}  // namespace
}  // namespace runner
