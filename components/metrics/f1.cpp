#include "components/metrics/support/class_score.hpp"

namespace runner {
namespace {

double score(const ClassCount& count) { return ratio(2 * count.hits, count.answers + count.labels); }

std::unique_ptr<Metric> build(const ClassScore& settings, const MetricInputs&) {
  return make_class_score("f1", settings, &score);
}

const Registration<MetricKind> registration{"f1", "The harmonic mean of precision and recall.", &build};

}  // namespace
}  // namespace runner
