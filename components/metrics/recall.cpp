#include "components/metrics/class_score.hpp"

namespace runner {
namespace {

using RecallScore = ClassScore<struct RecallComponent>;

double score(const ClassCount& count) { return ratio(count.hits, count.labels); }

MetricFacts facts(const RecallScore& settings) { return class_score_facts("recall", settings.average); }

std::unique_ptr<Metric> build(const RecallScore& settings, const MetricInputs& inputs) {
  return make_class_score(
      {"recall", settings.average, settings.ignore_index.value_or(inputs.ignore_index), inputs.targets},
      &score);
}

const Registration<MetricKind> registration{
    "recall", "Of the examples of a class, the share that is predicted correctly.", &build};

}  // namespace
}  // namespace runner
