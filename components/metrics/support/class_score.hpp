#pragma once

#include <memory>
#include <string>

#include "components/metrics/metric.hpp"

namespace runner {

enum class Average { macro, micro, weighted, binary };
constexpr auto describe(std::type_identity<Average>) {
  return choices(
      choice("macro", Average::macro, "the mean over the classes that occur in labels or answers"),
      choice("micro", Average::micro, "over all examples at once; equals accuracy"),
      choice("weighted", Average::weighted, "the mean over the classes, by how often each is right"),
      choice("binary", Average::binary, "of class 1 alone, where there are two classes"));
}

// The parameters of precision, recall and f1.
struct ClassScore {
  Average average = Average::macro;
  std::int64_t ignore_index = -100;
};
constexpr auto describe(std::type_identity<ClassScore>) {
  return fields(field("average", &ClassScore::average, "How the classes' numbers become one."),
                field("ignore_index", &ClassScore::ignore_index, "Targets with this label are not counted."));
}

// How often a class was rightly answered, answered at all, and right.
struct ClassCount {
  double hits = 0, answers = 0, labels = 0;
};

// 0 / 0 is 0: a class that is never answered has a precision of 0, one that never occurs a recall of 0.
inline double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Reports "<name>_<average>", or "<name>" for binary; equal to scikit-learn's of the same name.
std::unique_ptr<Metric> make_class_score(const std::string& name, const ClassScore& settings,
                                         double (*score)(const ClassCount&));

}  // namespace runner
