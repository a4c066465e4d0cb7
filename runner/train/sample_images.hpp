#pragma once

#include "runner/runs/tracking/trackers.hpp"
#include "runner/train/training_run.hpp"

namespace runner {

// Logs what the model will see to trackers that show images: the first training batch, augmented, and the
// first images of the validation set. Does nothing if the data are not images.
void log_sample_images(const Run& run, Trackers& trackers);

}  // namespace runner
