// The datasets of the comparison, as a recipe would name them.
#pragma once

#include <string>

#include "components/datasets/dataset.hpp"
#include "tests/support/parts.hpp"

namespace runner {

using testing::Setting;

inline Setting normalized() {
  return Setting::table({{"name", "normalize"},
                         {"mean", Setting::list({0.4914, 0.4822, 0.4465})},
                         {"std", Setting::list({0.2470, 0.2435, 0.2616})}});
}

inline Splits opened(const char* name, const testing::Settings& settings) {
  const auto part = testing::part<DatasetKind>(name, settings);
  const auto dataset = part.build({0});
  return dataset->open(build_pipeline(part.common.transform, dataset->spec()));
}

}  // namespace runner
