#include "components/metrics/support/class_score.hpp"

namespace runner {
namespace {

double score(const ClassCount& count) { return ratio(count.hits, count.labels); }

std::unique_ptr<Metric> build(const ClassScore& settings, const MetricInputs&) {
  return make_class_score("recall", settings, &score);
}

const Registration<MetricKind> registration{"recall", "Share of the examples of a class that are found.",
                                            &build};

}  // namespace
}  // namespace runner
