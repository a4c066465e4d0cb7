#include "components/metrics/errors.hpp"
#include "components/metrics/metric.hpp"

namespace runner {
namespace {

struct Rmse {};

constexpr auto describe(std::type_identity<Rmse>) { return fields(); }

class RmseMetric final : public Metric {
 public:
  explicit RmseMetric(const DataSpec& data) : errors_("rmse", data) {}

  void reset() override { errors_.reset(); }
  void update(const torch::Tensor& output, const Batch& batch) override { errors_.add(output, batch.target); }
  std::vector<std::pair<std::string, double>> compute() const override {
    if (errors_.examples() == 0) return {{"rmse", 0.0}};
    return {{"rmse", (errors_.squared() / errors_.examples()).sqrt().mean().item<double>()}};
  }
  State accumulated() const override { return errors_.state(); }
  void merge(const State& other) override { errors_.merge(other); }

 private:
  Errors errors_;
};

MetricFacts facts(const Rmse&) { return {{{"rmse", Better::min}}, {Targets::numbers}}; }

std::unique_ptr<Metric> build(const Rmse&, const MetricInputs& inputs) {
  return std::make_unique<RmseMetric>(inputs.data);
}

const Registration<MetricKind> registration{
    "rmse", "Root mean squared error; for several targets per example, the mean over them.", &build};

}  // namespace
}  // namespace runner
