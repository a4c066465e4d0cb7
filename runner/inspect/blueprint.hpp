#pragma once

#include <memory>

#include "runner/engine/world.hpp"
#include "runner/inspect/inspection.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// Model and loss of a recipe, to pass shapes through, built without reading data or weights. The model is a
// sketch: on the meta device, which takes no memory, unless it cannot be built there.
struct Blueprint {
  DataSpec data;  // after the transforms, as in training
  std::shared_ptr<Model> model;
  std::unique_ptr<Loss> loss;
  std::unique_ptr<Dataset> dataset;  // what it has read, and warned about, is not read again
};

Blueprint draw_blueprint(const Recipe& recipe);

// Passes examples through the model: first a sketch without memory for its weights; then a real model, whose
// numbers are exact, if there is plenty of memory or the sketch cannot be used. Throws if shapes do not fit.
Inspection inspect(const Recipe& recipe, Blueprint& blueprint);

// Throws std::runtime_error if the machine does not have enough memory for the weights and gradients of all
// its ranks, before any of it is allocated.
void require_memory(const Recipe& recipe, const DataSpec& data, const World& world,
                    const torch::Device& device);

// Models of plugins are always built with memory, because their code may read the values of its tensors.
bool from_plugin(const Part<ModelKind>& model);

// Without its adapter, as the file of its weights has it.
std::shared_ptr<Model> bare_sketch(const Recipe& recipe, const DataSpec& data);
std::shared_ptr<Model> sketch_model(const Recipe& recipe, const DataSpec& data);

}  // namespace runner
