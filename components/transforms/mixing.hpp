#pragma once

#include "components/contract/batch.hpp"
#include "components/contract/data_spec.hpp"
#include "components/contract/example_random.hpp"

namespace runner {

// Shared by mixup and cutmix: each example is mixed with the one before it in the batch (the first with the
// last), and so are the targets, which become a share for each class.

// A share between 0 and 1, from the symmetric Beta distribution.
double draw_share(ExampleRandom& random, double alpha);

// Converts class indices to shares: 1 for the class, 0 for the others. Targets that are shares stay the same.
void soften_targets(Batch& batch, std::int64_t classes);

// Each example becomes `share` times itself plus the rest times the previous one. A row is one example.
void blend_with_previous(float* rows, std::int64_t examples, std::int64_t numbers, double share);

// The spec after soften_targets(); throws if the data has no classes.
DataSpec with_soft_targets(DataSpec data);

}  // namespace runner
