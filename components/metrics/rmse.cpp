#include "components/metrics/metric.hpp"
#include "components/metrics/support/errors.hpp"

namespace runner {
namespace {

struct Rmse {};

constexpr auto describe(std::type_identity<Rmse>) { return fields(); }

class RmseMetric final : public Metric {
 public:
  std::vector<std::string> names() const override { return {"rmse"}; }
  void reset() override { errors_.reset(); }
  void update(const torch::Tensor& output, const Batch& batch) override { errors_.add(output, batch.target); }
  std::vector<std::pair<std::string, double>> compute() const override {
    if (errors_.examples() == 0) return {{"rmse", 0.0}};
    return {{"rmse", (errors_.squared() / errors_.examples()).sqrt().mean().item<double>()}};
  }

 private:
  Errors errors_{"rmse"};
};

std::unique_ptr<Metric> build(const Rmse&, const MetricInputs&) { return std::make_unique<RmseMetric>(); }

const Registration<MetricKind> registration{
    "rmse", "Root of the mean squared error; with several numbers for each example, the mean of their roots.",
    &build};

}  // namespace
}  // namespace runner
