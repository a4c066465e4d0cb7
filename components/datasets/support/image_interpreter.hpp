#pragma once

#include "components/datasets/dataset.hpp"
#include "components/datasets/support/image_file.hpp"

namespace runner {

// Reads JPEG and PNG files as the images of a dataset with this spec before transforms: in its channels and,
// where all its images are of one size, scaled to that; then as for an evaluation.
std::unique_ptr<Interpreter> image_interpreter(const DataSpec& raw, const TransformPipeline& transforms,
                                               Turned turned = Turned::as_stored);

}  // namespace runner
