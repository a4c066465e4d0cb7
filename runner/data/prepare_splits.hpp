#pragma once

#include "components/datasets/dataset.hpp"

namespace runner {

struct SplitRules {
  DatasetCommon common;                          // transforms, validation, limits
  std::optional<std::int64_t> overfit_examples;  // loader.overfit_batches, in examples
};

// Opens a dataset and prepares its splits for loaders: takes the validation set out of the training set, and
// applies the limits. Logs what was chosen. Throws DataError.
Splits prepare_splits(const Dataset& dataset, const SplitRules& rules);
// The same with these transforms instead of those in the rules.
Splits prepare_splits(const Dataset& dataset, const SplitRules& rules, const TransformPipeline& transforms);

}  // namespace runner
