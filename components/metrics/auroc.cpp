#include <limits>

#include "components/metrics/ranking.hpp"

namespace runner {
namespace {

// The share of (yes, no) pairs that the scores rank correctly; a tie counts half.
double area(std::span<const TiedGroup> groups) {
  double yes = 0, no = 0, right = 0;
  for (const TiedGroup& group : groups) {
    right += group.no * (yes + group.yes / 2);
    yes += group.yes;
    no += group.no;
  }
  return yes > 0 && no > 0 ? right / (yes * no) : std::numeric_limits<double>::quiet_NaN();
}

using Auroc = Ranking<struct AurocMetric>;

std::string name_of(const Auroc& settings) { return ranking_name("auroc", settings.average); }

MetricFacts facts(const Auroc& settings) { return ranking_facts(name_of(settings)); }

std::unique_ptr<Metric> build(const Auroc& settings, const MetricInputs& inputs) {
  return make_ranking({name_of(settings), settings.average,
                       settings.ignore_index.value_or(inputs.ignore_index), inputs.targets},
                      &area);
}

const Registration<MetricKind> registration{
    "auroc",
    "Area under the ROC curve: one-vs-rest for more than two classes, one per label for multi-label tasks. "
    "NaN if a class is missing from the set. Keeps all scores in memory: 8 bytes per example and "
    "class.",
    &build};

}  // namespace
}  // namespace runner
