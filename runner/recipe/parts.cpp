#include "runner/recipe/parts.hpp"

#include <torch/utils.h>

#include "components/models/weights/load_weights.hpp"
#include "registry/base/arithmetic.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/recipe_error.hpp"
#include "runner/data/prepare_splits.hpp"
#include "runner/recipe/measurements.hpp"

namespace runner {

EngineOptions engine_options(const Recipe& recipe) {
  EngineOptions options;
  options.device = recipe.run.device;
  options.memory_format = recipe.run.memory_format;
  options.precision = [&](const PrecisionInputs& inputs) { return recipe.precision.build(inputs); };
  options.clip_norm = recipe.train.clip_norm;
  options.clip_value = recipe.train.clip_value;
  options.on_out_of_memory = recipe.train.on_out_of_memory;
  options.graphs = recipe.train.cuda_graphs;
  options.distributed = recipe.distributed;
  options.updates_by = recipe.optimizer.facts().updates_by;
  options.weights_cast_to = recipe.precision.facts().weights_cast_to;
  return options;
}

std::unique_ptr<Dataset> build_dataset(const Recipe& recipe, const LearntData& learnt) {
  return recipe.dataset.build({static_cast<std::uint64_t>(recipe.run.seed), learnt.learned, learnt.classes});
}

namespace {

// The model knows its classes by their numbers: others would be compared with the wrong names.
void require_same_classes(const std::vector<std::string>& found, const std::vector<std::string>& learnt) {
  if (found.empty() || learnt.empty() || found == learnt) return;
  throw DataError("The data has the classes " + listed(found) + ", but the run was trained with " +
                  listed(learnt) + ". Evaluate it on data with its own classes.");
}

}  // namespace

Splits open_data(const Recipe& recipe, const LearntData& learnt) {
  SplitRules rules{recipe.dataset.common, {}};
  if (const auto batches = recipe.loader.overfit_batches) {
    rules.overfit_examples = saturating_product(
        *batches, saturating_product(recipe.loader.batch_size, recipe.train.accumulation_steps));
  }
  try {
    Splits data = prepare_splits(*build_dataset(recipe, learnt), rules);
    require_same_classes(data.train->spec().class_names, learnt.classes);
    return data;
  } catch (const DataError& error) {  // it would be found again
    throw RecipeError(recipe.dataset.origin(), error.what());
  }
}

DataSpec spec_after_transforms(const Recipe& recipe, const Dataset& dataset, bool training) {
  const DataSpec raw = dataset.spec();
  return after(build_pipeline(recipe.dataset.common.transform, raw), raw, training);
}

std::unique_ptr<Loss> build_loss(const Recipe& recipe, const DataSpec& data,
                                 const std::function<std::vector<std::int64_t>()>& class_counts) {
  require_targets(recipe.loss, data);
  const bool counted = recipe.loss.facts().needs_class_counts;
  return recipe.loss.build({data, counted ? class_counts() : std::vector<std::int64_t>{}});
}

std::shared_ptr<Model> build_bare_model(const Recipe& recipe, const DataSpec& data) {
  torch::manual_seed(static_cast<std::uint64_t>(recipe.run.seed));
  return build_structure(recipe.model, data);
}

std::shared_ptr<Model> build_model(const Recipe& recipe, const DataSpec& data) {
  std::shared_ptr<Model> model = build_bare_model(recipe, data);
  if (const auto loaded = apply_common(*model, recipe.model.common)) log::info(loaded->text());
  return model;
}

}  // namespace runner
