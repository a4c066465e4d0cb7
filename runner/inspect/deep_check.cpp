#include "runner/inspect/deep_check.hpp"

#include "components/models/support/model_weights.hpp"
#include "registry/build_part.hpp"
#include "registry/log.hpp"
#include "runner/data/loader.hpp"
#include "runner/data/prepare_splits.hpp"
#include "runner/inspect/blueprint.hpp"
#include "runner/inspect/inspection.hpp"
#include "runner/inspect/trial_evaluation.hpp"
#include "runner/measurements.hpp"
#include "runner/parts.hpp"

namespace runner {

namespace {

Batch two_of(const Split& split, const Recipe& recipe, bool training) {
  LoaderOptions options;
  options.batch_size = 2;
  options.workers = 0;
  options.shuffle = training;
  options.epochs = 1;
  if (recipe.loader.on_error == OnError::skip) options.broken = LoaderOptions::Broken::replace;
  const auto loaded = Loader(split, options).next();
  return loaded ? loaded->batch : Batch{};
}

struct EvaluationBatch {
  Batch batch;
  DataSpec data;
};

// The training set is only read, so that what is wrong with its files or transforms shows as well.
EvaluationBatch evaluation_batch(const Recipe& recipe, const Dataset& dataset) {
  if (!dataset.at_hand()) {
    const DataSpec raw = dataset.spec();
    const DataSpec data =
        after(build_pipeline(recipe.dataset.common.transform, raw), raw, /*training=*/false);
    return {zero_batch(data, 2), data};
  }
  Splits splits = prepare_splits(dataset, {recipe.dataset.common, {}});
  two_of(*splits.train, recipe, true);
  if (!splits.eval) return {};
  return {two_of(*splits.eval, recipe, false), splits.eval->spec()};
}

std::vector<std::unique_ptr<Hook>> build_hooks(const Recipe& recipe, const Inspection& found,
                                               const Weights& weights, const DataSpec& data) {
  HookInputs inputs;
  inputs.parameters = found.parameters;
  inputs.flops_per_example = 3 * found.forward_flops_per_example;
  inputs.measured = measurements_of(recipe);
  inputs.weights = &weights;
  inputs.data = data;
  std::vector<std::unique_ptr<Hook>> hooks;
  for (const auto& part : recipe.hook) hooks.push_back(build_part(part, inputs));
  return hooks;
}

}  // namespace

void check_deeply(const Value& resolved, const Registry& registry) {
  const Recipe recipe = decode_table<Recipe>(resolved, registry);
  Blueprint blueprint = draw_blueprint(recipe);
  const Inspection found = inspect(recipe, blueprint);
  const auto dataset = build_dataset(recipe);
  const auto [batch, data] = evaluation_batch(recipe, *dataset);
  if (batch.size() == 0 || !found.passed || found.output_shape.empty()) return;
  std::vector<std::int64_t> shape = found.output_shape;
  shape.front() = batch.size();
  constexpr std::int64_t largest = std::int64_t{1} << 26;  // outputs that only a sketch of the model can have
  if (c10::multiply_integers(shape) > largest) return;
  const ModelWeights weights(*blueprint.model);
  try_evaluation(recipe, build_metrics(recipe, data, *blueprint.loss),
                 build_hooks(recipe, found, weights, data), batch, torch::zeros(shape, found.output_type));
}

}  // namespace runner
