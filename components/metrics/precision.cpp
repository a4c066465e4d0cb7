#include "components/metrics/class_score.hpp"

namespace runner {
namespace {

using PrecisionScore = ClassScore<struct PrecisionComponent>;

double score(const ClassCount& count) { return ratio(count.hits, count.answers); }

MetricFacts facts(const PrecisionScore& settings) { return class_score_facts("precision", settings.average); }

std::unique_ptr<Metric> build(const PrecisionScore& settings, const MetricInputs& inputs) {
  return make_class_score(
      {"precision", settings.average, settings.ignore_index.value_or(inputs.ignore_index), inputs.targets},
      &score);
}

const Registration<MetricKind> registration{
    "precision", "Of the examples predicted as a class, the share that belongs to it.", &build};

}  // namespace
}  // namespace runner
