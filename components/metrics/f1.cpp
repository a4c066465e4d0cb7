#include "components/metrics/class_score.hpp"

namespace runner {
namespace {

using F1Score = ClassScore<struct F1Metric>;

double score(const ClassCount& count) { return ratio(2 * count.hits, count.answers + count.labels); }

MetricFacts facts(const F1Score& settings) { return class_score_facts("f1", settings.average); }

std::unique_ptr<Metric> build(const F1Score& settings, const MetricInputs& inputs) {
  return make_class_score(
      {"f1", settings.average, settings.ignore_index.value_or(inputs.ignore_index), inputs.targets}, &score);
}

const Registration<MetricKind> registration{"f1", "The harmonic mean of precision and recall.", &build};

}  // namespace
}  // namespace runner
