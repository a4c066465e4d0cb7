#pragma once

#include "components/datasets/dataset.hpp"
#include "components/datasets/read/image_file.hpp"

namespace runner {

// Reads JPEG and PNG files like images of a dataset with the spec `raw` (before transforms): converted to its
// channels, scaled to its size if all of its images have the same, then transformed as in an evaluation.
std::unique_ptr<Interpreter> image_interpreter(const DataSpec& raw, const TransformPipeline& transforms,
                                               Turned turned = Turned::as_stored);

}  // namespace runner
