#pragma once

#include "runner/train/run.hpp"

namespace runner {

// Sets the running mean and variance of every batch-norm layer to the average over so many training batches,
// as the weights are now. Does nothing where the model has no such layer.
void recompute_batch_statistics(Run& run, std::int64_t batches);

}  // namespace runner
