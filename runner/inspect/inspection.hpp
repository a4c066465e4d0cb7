#pragma once

#include <cstdint>

#include "components/losses/loss.hpp"
#include "components/models/model.hpp"

namespace runner {

// The result of passing zeros through a model once.
struct Inspection {
  std::int64_t parameters = 0;
  std::int64_t trained_parameters = 0;
  std::int64_t weight_bytes = 0;  // parameters and buffers
  double forward_flops_per_example = 0;
  std::int64_t activation_bytes_per_example = 0;  // kept between forward and backward
  std::vector<std::int64_t> output_shape = {};    // of the batch of zeros, examples first
  torch::Dtype output_type = torch::kFloat32;
  bool passed = true;         // false: nothing went through it, and the two above are not known
  std::string obstacle = {};  // why not
};

// Zeros in the shape of this data.
Batch zero_batch(const DataSpec& data, std::int64_t examples);

// Where the recipe chooses model and loss, for messages.
struct Places {
  Origin model = {}, loss = {};
};

// Runs a small batch of zeros through model and loss. Throws RecipeError where the shapes do not fit, and
// names the layer. A model on the meta device passes shapes alone.
Inspection inspect(Model& model, const Loss& loss, const DataSpec& data, const Places& places = {});

// Trains the model with one example of zeros, without a trace. Throws what a training step would throw.
void pass_single_example(Model& model, const DataSpec& data);

Inspection count_weights(const Model& model);

// Whether the model is a sketch: shapes without numbers.
bool on_meta(const Model& model);

}  // namespace runner
