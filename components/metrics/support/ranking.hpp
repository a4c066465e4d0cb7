#pragma once

#include <memory>
#include <span>
#include <string>

#include "components/metrics/metric.hpp"

namespace runner {

// The parameters of metrics that judge how scores rank examples.
struct Ranking {
  std::int64_t ignore_index = -100;
};
constexpr auto describe(std::type_identity<Ranking>) {
  return fields(field("ignore_index", &Ranking::ignore_index, "Targets with this label are not counted."));
}

// Examples with one score, in falling order of it.
struct TiedGroup {
  double yes = 0, no = 0;
};

// With one score for each example, or two classes, it is about class 1; with more, the mean over all classes,
// each against the rest by its probability. All scores of the set are kept until the end: 8 bytes for each
// example and class.
std::unique_ptr<Metric> make_ranking(const std::string& name, const Ranking& settings,
                                     double (*judge)(std::span<const TiedGroup>));

}  // namespace runner
