#pragma once

#include <memory>

#include "runner/inspect/inspection.hpp"

namespace runner {

// The model on the meta device, where it takes no memory, unless it cannot be built there.
std::shared_ptr<Model> sketch_model(const Recipe& recipe, const DataSpec& data);

// What passing examples through tells. A sketch is tried first; then a real model, whose numbers are exact,
// where there is plenty of memory for it. Throws where the shapes do not fit.
Inspection inspect(const Recipe& recipe, Blueprint& blueprint);

// Throws std::runtime_error where the machine does not have the memory for the weights and their gradients,
// before any of it is taken.
void require_memory(const Recipe& recipe, const DataSpec& data);

}  // namespace runner
