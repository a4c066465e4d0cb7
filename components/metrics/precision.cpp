#include "components/metrics/support/class_score.hpp"

namespace runner {
namespace {

double score(const ClassCount& count) { return ratio(count.hits, count.answers); }

std::unique_ptr<Metric> build(const ClassScore& settings, const MetricInputs&) {
  return make_class_score("precision", settings, &score);
}

const Registration<MetricKind> registration{"precision", "Share of the answers with a class that are right.",
                                            &build};

}  // namespace
}  // namespace runner
