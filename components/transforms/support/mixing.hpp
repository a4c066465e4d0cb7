#pragma once

#include "components/contract/batch.hpp"
#include "components/contract/data_spec.hpp"
#include "components/contract/sample_random.hpp"

namespace runner {

// What mixup and cutmix share: each example is mixed with the one before it in the batch (the first with the
// last), and so are the targets, which become a share for each class.

// A share between 0 and 1, from the symmetric Beta distribution.
double draw_share(SampleRandom& random, double alpha);

// Class indices as 1 for the class and 0 for the others; shares stay as they are.
void soften_targets(Batch& batch, std::int64_t classes);

// Of every example keeps `share` and takes the rest from the one before. A row is one example, contiguous.
void blend_with_previous(float* rows, std::int64_t examples, std::int64_t numbers, double share);

// How the spec of the data changes; throws where there are no classes.
DataSpec with_soft_targets(DataSpec data);

}  // namespace runner
