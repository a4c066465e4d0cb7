#pragma once

#include <memory>

#include "runner/engine/options.hpp"
#include "runner/recipe.hpp"

namespace runner {

// Builds what a recipe describes.

EngineOptions engine_options(const Recipe& recipe);  // refers to the recipe

std::unique_ptr<Dataset> build_dataset(const Recipe& recipe);

// Opens the data and limits it as the recipe says. Throws DataError if there is nothing to train on.
Splits open_data(const Recipe& recipe);

// As initialised by the recipe's seed; model.weights and model.freeze are not applied yet.
std::shared_ptr<Model> build_bare_model(const Recipe& recipe, const DataSpec& data);

// With the weights that the recipe names, and with its frozen parameters.
std::shared_ptr<Model> build_model(const Recipe& recipe, const DataSpec& data);

}  // namespace runner
