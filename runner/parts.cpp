#include "runner/parts.hpp"

#include <torch/utils.h>

#include "components/models/support/load_weights.hpp"
#include "registry/arithmetic.hpp"
#include "registry/log.hpp"
#include "runner/data/prepare_splits.hpp"

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

std::unique_ptr<Dataset> build_dataset(const Recipe& recipe) {
  return recipe.dataset.build({static_cast<std::uint64_t>(recipe.run.seed)});
}

Splits open_data(const Recipe& recipe) {
  SplitRules rules{recipe.dataset.common, {}};
  if (const auto batches = recipe.loader.overfit_batches) {
    rules.overfit_examples = saturating_product(
        *batches, saturating_product(recipe.loader.batch_size, recipe.train.accumulation_steps));
  }
  return prepare_splits(*build_dataset(recipe), rules);
}

std::shared_ptr<Model> build_bare_model(const Recipe& recipe, const DataSpec& data) {
  torch::manual_seed(static_cast<std::uint64_t>(recipe.run.seed));
  return recipe.model.build({data});
}

std::shared_ptr<Model> build_model(const Recipe& recipe, const DataSpec& data) {
  std::shared_ptr<Model> model = build_bare_model(recipe, data);
  if (const auto loaded = apply_common(*model, recipe.model.common)) log::info(loaded->text());
  return model;
}

}  // namespace runner
