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

// The parameters of metrics of how well scores rank the examples; each component instantiates its own type.
template <class Component>
struct Ranking {
  std::optional<RankingAverage> average;
  std::optional<std::int64_t> ignore_index;
};
template <class Component>
constexpr auto describe(std::type_identity<Ranking<Component>>) {
  using Own = Ranking<Component>;
  return fields(
      field("average", &Own::average,
            "How several classes, or several labels per example, are averaged; default: \"macro\"."),
      field("ignore_index", &Own::ignore_index,
            "Targets with this label are ignored; default: the loss's ignore_index."));
}

// The examples that have the same score; groups are in descending order of the score.
struct TiedGroup {
  double yes = 0, no = 0;
};

struct RankingSettings {
  std::string name;
  std::optional<RankingAverage> average = {};
  std::int64_t ignore_index = -100;
  std::optional<Targets> targets = {};
};

// The metric is named "<name>_<average>", or "<name>" for macro.
std::string ranking_name(const std::string& name, std::optional<RankingAverage> average);
MetricFacts ranking_facts(const std::string& name);

// With one score per example, or two classes, the metric is that of class 1; with more classes, it is the
// average over the classes, each against the rest, ranked by probability; in multi-label tasks, over the
// labels. All scores of the set are kept until the end: 8 bytes per example and class.
std::unique_ptr<Metric> make_ranking(const RankingSettings& settings,
                                     double (*judge)(std::span<const TiedGroup>));

}  // namespace runner
