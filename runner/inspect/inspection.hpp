#pragma once

#include <cstdint>
#include <memory>

#include "runner/recipe.hpp"

namespace runner {

// The parts of a recipe that shapes go through, built without reading data or weights.
struct Blueprint {
  DataSpec data;  // after the transforms, as in training
  std::shared_ptr<Model> model;
  std::unique_ptr<Loss> loss;
};

Blueprint draw_blueprint(const Recipe& recipe);

// What one pass of zeros through a model tells about it.
struct Inspection {
  std::int64_t parameters = 0;
  std::int64_t trained_parameters = 0;
  std::int64_t weight_bytes = 0;  // parameters and buffers
  double forward_flops_per_sample = 0;
  std::int64_t activation_bytes_per_sample = 0;  // kept between forward and backward
};

// Zeros in the shape of this data.
Batch zero_batch(const DataSpec& data, std::int64_t examples);

// Runs a small batch of zeros through model and loss. Throws where the shapes do not fit, and names the
// layer.
Inspection inspect(Model& model, const Loss& loss, const DataSpec& data);

}  // namespace runner
