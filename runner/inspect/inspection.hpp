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
  bool passed = true;         // false: no pass was possible; flops, activations and output are unknown
  std::string obstacle = {};  // why not
};

// Zeros in the shape of this data.
Batch zero_batch(const DataSpec& data, std::int64_t examples);

// Where the recipe names model and loss, for messages.
struct Places {
  Origin model = {}, loss = {};
};

// Passes a small batch of zeros through model and loss. Throws RecipeError, which names the layer, if the
// shapes do not fit. On the meta device only shapes are computed.
Inspection inspect(Model& model, const Loss& loss, const DataSpec& data, const Places& places = {});

// A forward pass in training mode with one example of zeros; restores buffers. Throws what a step would.
void pass_single_example(Model& model, const DataSpec& data);

Inspection count_weights(const Model& model);

// Whether the model is a sketch: shapes without values.
bool on_meta(const Model& model);

}  // namespace runner
