#include <stdexcept>

#include "components/metrics/labels.hpp"
#include "components/metrics/metric.hpp"
#include "registry/base/log.hpp"

namespace runner {
namespace {

struct TopK {
  std::int64_t k = 5;
  std::optional<std::int64_t> ignore_index;
};

constexpr auto describe(std::type_identity<TopK>) {
  return fields(field("k", &TopK::k, "Number of highest outputs to consider.", at_least(1)),
                field("ignore_index", &TopK::ignore_index,
                      "Targets with this label are ignored; default: the loss's ignore_index."));
}

std::string name_of(const TopK& settings) { return "top_" + std::to_string(settings.k); }

class TopKMetric final : public Metric {
 public:
  TopKMetric(const TopK& settings, const MetricInputs& inputs)
      : settings_(settings), ignore_index_(settings.ignore_index.value_or(inputs.ignore_index)) {}

  void reset() override { counts_ = {}; }
  void update(const torch::Tensor& output, const Batch& batch) override {
    const torch::Tensor labels = labels_of(batch.target, output);
    if (output.size(1) < settings_.k) {
      throw std::runtime_error(log::format("top_k: k = {} is more than the {} classes of the model.",
                                           settings_.k, output.size(1)));
    }
    require_known_labels(labels, output.size(1), ignore_index_);
    const torch::Tensor highest = std::get<1>(output.topk(settings_.k, 1));
    counts_.add(highest.eq(labels.unsqueeze(1)).any(1), labels.ne(ignore_index_));
  }
  std::vector<std::pair<std::string, double>> compute() const override {
    return {{name_of(settings_), counts_.share()}};
  }
  State accumulated() const override { return counts_.state(); }
  void merge(const State& other) override { counts_.merge(other); }

 private:
  TopK settings_;
  std::int64_t ignore_index_;
  HitCounts counts_;
};

MetricFacts facts(const TopK& settings) {
  return {{{name_of(settings), Better::max}}, {Targets::class_index, Targets::class_shares}};
}

std::unique_ptr<Metric> build(const TopK& settings, const MetricInputs& inputs) {
  if (inputs.data.classes > 0 && settings.k > inputs.data.classes) {
    throw std::runtime_error(log::format("top_k: k = {} is more than the {} classes of the data.", settings.k,
                                         inputs.data.classes));
  }
  return std::make_unique<TopKMetric>(settings, inputs);
}

const Registration<MetricKind> registration{
    "top_k", "Share of examples whose right class is among the k highest outputs.", &build};

}  // namespace
}  // namespace runner
