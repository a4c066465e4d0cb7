#pragma once

#include <memory>
#include <span>
#include <string>

#include "components/metrics/metric.hpp"

namespace runner {

enum class RankingAverage { macro, micro, weighted };
constexpr auto describe(std::type_identity<RankingAverage>) {
  return choices(
      choice("macro", RankingAverage::macro, "the mean over the classes or labels"),
      choice("micro", RankingAverage::micro, "all classes or labels of all examples in one ranking"),
      choice("weighted", RankingAverage::weighted,
             "the mean over them, weighted by how often each is the target"));
}

// The parameters of metrics that judge how scores rank examples; a type for each, named by the component
// itself.
template <class Component>
struct Ranking {
  std::optional<RankingAverage> average;
  std::int64_t ignore_index = -100;
};
template <class Component>
constexpr auto describe(std::type_identity<Ranking<Component>>) {
  using Own = Ranking<Component>;
  return fields(
      field("average", &Own::average,
            "How several classes, or several labels per example, are averaged; default: \"macro\"."),
      field("ignore_index", &Own::ignore_index, "Targets with this label are ignored."));
}

// Examples with one score, in falling order of it.
struct TiedGroup {
  double yes = 0, no = 0;
};

struct RankingSettings {
  std::string name;
  std::optional<RankingAverage> average = {};
  std::int64_t ignore_index = -100;
  std::optional<Targets> targets = {};
};

MetricFacts ranking_facts(const std::string& name);

// With one score for each example, or two classes, it is about class 1; with more, over all classes, each
// against the rest by its probability; with several labels of yes or no, over the labels. All scores of the
// set are kept until the end: 8 bytes for each example and class.
std::unique_ptr<Metric> make_ranking(const RankingSettings& settings,
                                     double (*judge)(std::span<const TiedGroup>));

}  // namespace runner
