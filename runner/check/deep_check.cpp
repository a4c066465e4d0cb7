#include "runner/check/deep_check.hpp"

#include "components/models/weights/load_weights.hpp"
#include "components/models/weights/model_weights.hpp"
#include "components/models/weights/weights_and_data.hpp"
#include "registry/base/log.hpp"
#include "runner/data/loader.hpp"
#include "runner/data/prepare_splits.hpp"
#include "runner/engine/runtime/device.hpp"
#include "runner/inspect/blueprint.hpp"
#include "runner/inspect/build_hooks.hpp"
#include "runner/inspect/inspection.hpp"
#include "runner/inspect/single_example.hpp"
#include "runner/inspect/trial_evaluation.hpp"
#include "runner/recipe/measurements.hpp"
#include "runner/recipe/parts.hpp"

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

// A batch to evaluate, and how many examples there are to train on.
struct EvaluationBatch {
  Batch batch;
  DataSpec data;
  std::int64_t train_examples = 0;  // 0: not known, because the data is not on this machine
};

// The training set is read only to find problems with its files and transforms.
EvaluationBatch evaluation_batch(const Recipe& recipe, const Dataset& dataset) {
  if (!dataset.at_hand()) {
    const DataSpec data = spec_after_transforms(recipe, dataset, /*training=*/false);
    return {zero_batch(data, 2), data};
  }
  Splits splits = prepare_splits(dataset, {recipe.dataset.common, {}});
  two_of(*splits.train, recipe, true);
  if (!splits.eval) return {.batch = {}, .data = {}, .train_examples = splits.train->size()};
  return {two_of(*splits.eval, recipe, false), splits.eval->spec(), splits.train->size()};
}

// The device of the run; the CPU if this machine, which only checks the recipe, has no such device.
torch::Device device_here(const Recipe& recipe) {
  try {
    return resolve_device(recipe.run.device);
  } catch (const std::exception&) {
    return torch::kCPU;
  }
}

std::vector<std::unique_ptr<Hook>> hooks_of_one_rank(const Recipe& recipe, const Inspection& found,
                                                     const Weights& weights, const DataSpec& data) {
  if (recipe.hook.empty()) return {};
  HookInputs inputs;
  inputs.device = device_here(recipe);
  inputs.weights = &weights;
  inputs.data = data;
  return build_hooks(recipe, found, *recipe.precision.build({inputs.device}), inputs);
}

// The check that a run on a single rank makes before its first step.
void try_single_example(const Recipe& recipe, Blueprint& blueprint, std::int64_t examples) {
  if (examples == 0 || recipe.loader.overfit_batches) return;
  const Plan plan = make_plan(recipe.train, recipe.loader.batch_size, examples);
  if (!has_single_examples(plan, recipe.loader.batch_size, 1)) return;
  try {
    pass_single_example(*blueprint.model, blueprint.data);
  } catch (const std::exception& error) {
    if (is_about_single_example(error))
      throw std::runtime_error(single_example_problem(plan, recipe.loader, 1));
  }
}

// Whether the weights that the run starts from exist and fit.
void check_weights(const Recipe& recipe, const Blueprint& blueprint) {
  const ModelCommon& common = recipe.model.common;
  if (!common.weights) return;
  compare_weights_with_data(common, blueprint.data);
  match_weights(*bare_sketch(recipe, blueprint.data), *common.weights, common);
}

}  // namespace

void check_deeply(const Value& resolved, const Registry& registry) {
  const Recipe recipe = decode_table<Recipe>(resolved, registry);
  Blueprint blueprint = draw_blueprint(recipe);
  check_weights(recipe, blueprint);
  const Inspection found = inspect(recipe, blueprint);
  const auto [batch, data, train_examples] = evaluation_batch(recipe, *blueprint.dataset);
  try_single_example(recipe, blueprint, train_examples);
  if (batch.size() == 0 || !found.passed || found.output_shape.empty()) return;
  std::vector<std::int64_t> shape = found.output_shape;
  shape.front() = batch.size();
  constexpr std::int64_t largest = std::int64_t{1} << 26;  // larger outputs only come from a sketch
  if (c10::multiply_integers(shape) > largest) return;
  const ModelWeights weights(*blueprint.model);
  try_evaluation(recipe, build_metrics(recipe, data, *blueprint.loss),
                 hooks_of_one_rank(recipe, found, weights, data), batch,
                 torch::zeros(shape, found.output_type));
}

}  // namespace runner
