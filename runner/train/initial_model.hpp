#pragma once

#include <memory>

#include "runner/engine/world.hpp"
#include "runner/engine/zero3/parameter_values.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// A model before the first update, with parameters frozen as the recipe says.
struct InitialModel {
  std::shared_ptr<Model> model;
  ParameterValues values = {};
};

// If the run resumes, all values come from the checkpoint, unless an adapter is trained: the weights file is
// not read and may be gone. With strategy = "zero3" no rank has memory for all parameters: they come from the
// weights file, of which each rank reads only what it keeps, or from rank 0, which initialises them in a
// temporary file. Every rank takes part.
InitialModel build_initial_model(const Recipe& recipe, const DataSpec& data, World& world, bool resumes);

}  // namespace runner
