#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runner/engine/options.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// Builds what a recipe describes.

EngineOptions engine_options(const Recipe& recipe);  // refers to the recipe

// What a run learnt from its training data; empty for a new run.
struct LearntData {
  std::string learned = {};               // Splits::learned
  std::vector<std::string> classes = {};  // DataSpec::class_names
};

std::unique_ptr<Dataset> build_dataset(const Recipe& recipe, const LearntData& learnt = {});

// Opens the data and limits it as the recipe says. Throws DataError if there is nothing to train on, or if
// the classes are not those that the run learnt.
Splits open_data(const Recipe& recipe, const LearntData& learnt = {});

// What the examples of a dataset look like after the transforms of the recipe.
DataSpec spec_after_transforms(const Recipe& recipe, const Dataset& dataset, bool training);

// `class_counts` is called if the loss needs them. Throws RecipeError if the loss does not fit the targets.
std::unique_ptr<Loss> build_loss(const Recipe& recipe, const DataSpec& data,
                                 const std::function<std::vector<std::int64_t>()>& class_counts);

// As initialised by the recipe's seed; model.weights and model.freeze are not applied yet.
std::shared_ptr<Model> build_bare_model(const Recipe& recipe, const DataSpec& data);

// With the weights that the recipe names, and with its frozen parameters.
std::shared_ptr<Model> build_model(const Recipe& recipe, const DataSpec& data);

}  // namespace runner
