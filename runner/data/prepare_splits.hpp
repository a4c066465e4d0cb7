#pragma once

#include "components/datasets/dataset.hpp"

namespace runner {

struct SplitRules {
  DatasetCommon common;                          // transforms, validation, limits
  std::optional<std::int64_t> overfit_examples;  // loader.overfit_batches, in examples
};

// Opens a dataset and makes its parts ready for loaders: the validation set is taken out of the training set,
// and what the limits leave is chosen. The log says what was taken. Throws DataError.
Splits prepare_splits(const Dataset& dataset, const SplitRules& rules);
// The same with these transforms in place of those that the rules name.
Splits prepare_splits(const Dataset& dataset, const SplitRules& rules, const TransformPipeline& transforms);

}  // namespace runner
