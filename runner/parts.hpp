#pragma once

#include <memory>

#include "runner/engine/options.hpp"
#include "runner/recipe.hpp"

namespace runner {

// What a recipe describes, built in one place.

EngineOptions engine_options(const Recipe& recipe);  // refers to the recipe

std::unique_ptr<Dataset> build_dataset(const Recipe& recipe);

// Opens, and limits where the recipe says so. Throws DataError where there is nothing to train on.
Splits open_data(const Recipe& recipe);

// As initialised by the recipe's seed; model.weights and model.freeze are not applied yet.
std::shared_ptr<Model> build_bare_model(const Recipe& recipe, const DataSpec& data);

// With the weights that the recipe names, and frozen where it says so.
std::shared_ptr<Model> build_model(const Recipe& recipe, const DataSpec& data);

}  // namespace runner
