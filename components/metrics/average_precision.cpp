#include "components/metrics/ranking.hpp"

namespace runner {
namespace {

// The precision at each score threshold, weighted by the increase in recall; no interpolation.
double area(std::span<const TiedGroup> groups) {
  double yes = 0, all = 0, sum = 0;
  for (const TiedGroup& group : groups) {
    yes += group.yes;
    all += group.yes + group.no;
    sum += group.yes * yes / all;
  }
  return yes > 0 ? sum / yes : 0;
}

using AveragePrecision = Ranking<struct AveragePrecisionMetric>;

std::string name_of(const AveragePrecision& settings) {
  return ranking_name("average_precision", settings.average);
}

MetricFacts facts(const AveragePrecision& settings) { return ranking_facts(name_of(settings)); }

std::unique_ptr<Metric> build(const AveragePrecision& settings, const MetricInputs& inputs) {
  return make_ranking({name_of(settings), settings.average,
                       settings.ignore_index.value_or(inputs.ignore_index), inputs.targets},
                      &area);
}

const Registration<MetricKind> registration{
    "average_precision",
    "Summary of the precision-recall curve: one-vs-rest for more than two classes, one per label for "
    "multi-label tasks. 0 for a class that is missing from the set. Keeps all scores in memory: 8 bytes "
    "per example and class.",
    &build};

}  // namespace
}  // namespace runner
