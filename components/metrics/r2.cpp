#include <limits>

#include "components/metrics/errors.hpp"
#include "components/metrics/metric.hpp"

namespace runner {
namespace {

struct R2 {};

constexpr auto describe(std::type_identity<R2>) { return fields(); }

class R2Metric final : public Metric {
 public:
  explicit R2Metric(const DataSpec& data) : errors_("r2", data) {}

  void reset() override { errors_.reset(); }
  void update(const torch::Tensor& output, const Batch& batch) override { errors_.add(output, batch.target); }
  std::vector<std::pair<std::string, double>> compute() const override {
    if (errors_.examples() < 2) return {{"r2", std::numeric_limits<double>::quiet_NaN()}};
    // For constant targets, r2 is 1 if every output is exact, and otherwise 0.
    const torch::Tensor varies = errors_.deviation().ne(0);
    const torch::Tensor unexplained = torch::where(varies, errors_.squared() / errors_.deviation(),
                                                   errors_.squared().ne(0).to(torch::kFloat64));
    return {{"r2", 1 - unexplained.mean().item<double>()}};
  }
  State accumulated() const override { return errors_.state(); }
  void merge(const State& other) override { errors_.merge(other); }

 private:
  Errors errors_;
};

MetricFacts facts(const R2&) { return {{{"r2", Better::max}}, {Targets::numbers}}; }

std::unique_ptr<Metric> build(const R2&, const MetricInputs& inputs) {
  return std::make_unique<R2Metric>(inputs.data);
}

const Registration<MetricKind> registration{
    "r2",
    "Coefficient of determination: the share of the variance of the targets that the outputs explain; for "
    "several targets per example, the mean over them. NaN for fewer than two examples.",
    &build};

}  // namespace
}  // namespace runner
