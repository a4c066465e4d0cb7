#pragma once

#include "runner/train/run.hpp"

namespace runner {

// Batch norm cannot train on one value per channel, and a last batch of a single example comes at the end of
// an epoch: such a batch is tried before training begins. Changes nothing about the run.
void rehearse_single_example(Run& run);

}  // namespace runner
