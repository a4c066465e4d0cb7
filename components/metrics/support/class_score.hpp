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

// The parameters of precision, recall and f1; a type for each, named by the component itself.
template <class Component>
struct ClassScore {
  Average average = Average::macro;
  std::int64_t ignore_index = -100;
};
template <class Component>
constexpr auto describe(std::type_identity<ClassScore<Component>>) {
  using Score = ClassScore<Component>;
  return fields(field("average", &Score::average, "How the values of the classes are averaged."),
                field("ignore_index", &Score::ignore_index, "Targets with this label are ignored."));
}

// How often a class was rightly answered, answered at all, and right.
struct ClassCount {
  double hits = 0, answers = 0, labels = 0;
};

// 0 / 0 is 0: a class that is never answered has a precision of 0, one that never occurs a recall of 0.
inline double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// "<name>_<average>", or "<name>" for binary; equal to scikit-learn's of the same name.
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
