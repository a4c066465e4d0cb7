#pragma once

#include <memory>
#include <string>

#include "components/metrics/metric.hpp"

namespace runner {

enum class Average { macro, micro, weighted, binary, samples };
constexpr auto describe(std::type_identity<Average>) {
  return choices(choice("macro", Average::macro,
                        "the mean over the classes that occur in targets or predictions, or over all labels "
                        "of a multi-label task"),
                 choice("micro", Average::micro,
                        "over all examples at once; equals accuracy if each example has one class"),
                 choice("weighted", Average::weighted,
                        "the mean over the classes, weighted by how often each is the target"),
                 choice("binary", Average::binary, "of class 1 only, for two classes"),
                 choice("samples", Average::samples, "the mean over the examples, for multi-label tasks"));
}

// The parameters of precision, recall and f1; each component instantiates its own type.
template <class Component>
struct ClassScore {
  Average average = Average::macro;
  std::optional<std::int64_t> ignore_index;
};
template <class Component>
constexpr auto describe(std::type_identity<ClassScore<Component>>) {
  using Score = ClassScore<Component>;
  return fields(field("average", &Score::average, "How the values of the classes are averaged."),
                field("ignore_index", &Score::ignore_index,
                      "Targets with this label are ignored; default: the loss's ignore_index."));
}

// How often a class was predicted correctly (hits), predicted (answers), and the target (labels).
struct ClassCount {
  double hits = 0, answers = 0, labels = 0;
};

// 0 / 0 is 0: a class that is never predicted has precision 0, and one that never occurs has recall 0.
inline double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// The metric is named "<name>_<average>", or "<name>" for binary, and equals scikit-learn's.
MetricFacts class_score_facts(const std::string& name, Average average);
struct ClassScoreSettings {
  std::string name;
  Average average = Average::macro;
  std::int64_t ignore_index = -100;
  std::optional<Targets> targets = {};
};
std::unique_ptr<Metric> make_class_score(const ClassScoreSettings& settings,
                                         double (*score)(const ClassCount&));

}  // namespace runner
