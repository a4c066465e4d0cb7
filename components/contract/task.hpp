#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace runner {

// What a dataset or a model can be used for, as stated in its facts: `runner new` combines a dataset and a
// model that have a task in common. The recipe to start from is recipes/tasks/NAME.toml.
enum class Task {
  images,
  reconstruction,
  segmentation,
  sentences,
  language_model,
  translation,
  table,
  numbers
};

struct DatasetFacts {
  std::vector<Task> tasks = {};  // the most likely first; empty: any
  std::int64_t image_side = 0;   // pixels, if all images are squares of one size
};

struct ModelFacts {
  std::vector<Task> tasks = {};   // as above
  std::int64_t side_divisor = 1;  // the height and width of images must be multiples of this
  // Settings that a dataset needs for this model, if it has these settings.
  std::vector<std::pair<std::string, std::string>> dataset_settings = {};
  // Values of "model_type" in HuggingFace's config.json that this model reads.
  std::vector<std::string> pretrained_types = {};
  bool brings_weights = false;  // with its code, so that it is trained without model.weights
};

}  // namespace runner
