#pragma once

#include <memory>

#include "runner/engine/world.hpp"
#include "runner/inspect/inspection.hpp"
#include "runner/recipe.hpp"

namespace runner {

// The parts of a recipe that shapes go through, built without reading data or weights. The model is a sketch:
// on the meta device, which takes no memory, unless it cannot be built there.
struct Blueprint {
  DataSpec data;  // after the transforms, as in training
  std::shared_ptr<Model> model;
  std::unique_ptr<Loss> loss;
};

Blueprint draw_blueprint(const Recipe& recipe);

// Passes examples through the model: first a sketch without memory for its weights; then a real model, whose
// numbers are exact, if there is plenty of memory or the sketch cannot be used. Throws if shapes do not fit.
Inspection inspect(const Recipe& recipe, Blueprint& blueprint);

// Throws std::runtime_error where the machine does not have the memory for the weights and their gradients on
// all its ranks, before any of it is taken.
void require_memory(const Recipe& recipe, const DataSpec& data, const World& world,
                    const torch::Device& device);

// Code that is not ours may look at the numbers of a tensor it has made: such models are always built whole.
bool from_plugin(const Part<ModelKind>& model);

std::shared_ptr<Model> sketch_model(const Recipe& recipe, const DataSpec& data);

}  // namespace runner
