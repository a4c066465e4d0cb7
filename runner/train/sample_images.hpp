#pragma once

#include "runner/tracking/trackers.hpp"
#include "runner/train/run.hpp"

namespace runner {

// Shows the trackers that show images what the model will see: the first batch of training, augmented as it
// will be, and the first images of the evaluation set. Does nothing where the data is no images.
void log_sample_images(const Run& run, Trackers& trackers);

}  // namespace runner
