#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

namespace runner {

// What a dataset knows about itself before any data is read; models, losses and metrics are built from it.
struct DataSpec {
  std::vector<std::int64_t> input_shape =
      {};  // of one example: {3, 32, 32} for an image; -1: differs between examples
  torch::Dtype input_type = torch::kFloat32;
  std::vector<std::int64_t> target_shape = {};  // of one example: {} for a class index
  torch::Dtype target_type = torch::kInt64;
  // Targets are standardised, (value - mean) / deviation; metrics and predictions undo it.
  double target_mean = 0, target_deviation = 1;
  std::int64_t classes = 0;                   // 0: not a classification task
  std::vector<std::string> class_names = {};  // may be empty
  std::int64_t vocabulary = 0;                // inputs are token ids below this; 0: they are not tokens
  std::vector<std::int64_t> categories = {};  // the number of values of each categorical column; the values
                                              // are in the batch's extra "categories", [examples, columns]
  bool images = false;                        // image transforms can be applied
  std::vector<double> mean = {},
                      deviation = {};  // per channel, of pixels scaled to 0..1: the defaults of `normalize`
  std::int64_t train_examples = 0;     // 0: not known before the data is read
  bool pixels_final =
      false;  // normalised or erased by a transform: no transform that needs byte values may follow

  // The name of a class, or its number if it has none.
  std::string class_name(std::int64_t index) const {
    const bool named = index >= 0 && index < static_cast<std::int64_t>(class_names.size());
    return named ? class_names[static_cast<std::size_t>(index)] : std::to_string(index);
  }
};

}  // namespace runner
