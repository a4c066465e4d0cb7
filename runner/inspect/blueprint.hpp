#pragma once

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

}  // namespace runner
