#pragma once

#include "runner/train/training_run.hpp"

namespace runner {

// Batch norm cannot train on one value per channel. If the last batch of an epoch has a single example, such
// a batch is tried before training begins, so that the error does not come later. Does not change the run.
void rehearse_single_example(Run& run);

// Evaluates two examples with the run's metrics and hooks, so that a mismatch is found before training
// begins. Changes nothing; throws what an evaluation would throw.
void rehearse_evaluation(Run& run);

}  // namespace runner
