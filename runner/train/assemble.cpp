#include "runner/train/assemble.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include "components/datasets/support/selection.hpp"
#include "components/models/support/load_weights.hpp"
#include "components/optimizers/support/groups.hpp"
#include "registry/log.hpp"
#include "runner/data/prepare_splits.hpp"
#include "runner/inspect/inspection.hpp"
#include "runner/measurements.hpp"

namespace runner {

namespace {

Splits open_data(const Recipe& recipe) {
  const auto dataset = recipe.dataset.build({static_cast<std::uint64_t>(recipe.run.seed)});
  SplitRules rules{recipe.dataset.common, {}};
  if (const auto batches = recipe.loader.overfit_batches)
    rules.overfit_examples = *batches * recipe.loader.batch_size;
  return prepare_splits(*dataset, rules);
}

std::shared_ptr<Model> build_model(const Recipe& recipe, const DataSpec& data) {
  torch::manual_seed(static_cast<std::uint64_t>(recipe.run.seed));
  std::shared_ptr<Model> model = recipe.model.build({data});
  if (const auto loaded = apply_common(*model, recipe.model.common)) log::info(loaded->text());
  return model;
}

std::unique_ptr<Loss> build_loss(const Recipe& recipe, const Split& train) {
  const DataSpec data = train.spec();
  require_targets(recipe.loss, data);
  const bool counted = recipe.loss.facts().needs_class_counts;
  return recipe.loss.build({data, counted ? class_counts(train, data.classes) : std::vector<std::int64_t>{}});
}

HookInputs hook_inputs(const Engine& engine, Model& model, const Loss& loss, const DataSpec& data) {
  const Inspection inspection = inspect(model, loss, data);
  HookInputs inputs;
  inputs.parameters = inspection.parameters;
  inputs.flops_per_sample =
      3 * inspection.forward_flops_per_sample;  // backward does the work twice: inputs, weights
  inputs.device = engine.device();
  inputs.compute_type = engine.precision().compute_type();
  inputs.precision_skips = engine.precision().skips_updates();
  inputs.weights = &engine.weights();
  inputs.data = data;
  return inputs;
}

std::vector<std::unique_ptr<Hook>> build_hooks(const std::vector<Part<HookKind>>& parts, HookInputs inputs,
                                               const std::vector<Measured>& measured) {
  inputs.measured = measured;
  std::vector<std::unique_ptr<Hook>> hooks;
  for (const auto& part : parts) hooks.push_back(part.build(inputs));
  return hooks;
}

BestModel best_model(BestRule rule, const std::vector<Measured>& measured) {
  rule.mode = direction_of({rule.metric, rule.mode}, measured, "checkpoint.best");
  return BestModel(rule);
}

}  // namespace

Run assemble(const Recipe& recipe) {
  Engine engine(recipe.run, recipe.train, recipe.precision);
  Splits data = open_data(recipe);
  const DataSpec spec = data.train->spec();
  const Plan plan = make_plan(recipe.train, recipe.loader, data.train->size());
  auto model = build_model(recipe, spec);
  engine.place(model);
  auto loss = build_loss(recipe, *data.train);
  auto metrics = build_metrics(recipe, data.eval ? data.eval->spec() : spec, *loss);
  const auto measured = measurements_of(recipe);
  LearningRate learning_rate(recipe.scheduler, plan.schedule_steps(),
                             static_cast<double>(plan.steps_per_epoch), measured);
  auto optimizer = recipe.optimizer.build({make_groups(model->named_parameters(), recipe.optimizer.common)});
  std::vector<std::unique_ptr<Hook>> hooks;
  if (!recipe.hook.empty())
    hooks = build_hooks(recipe.hook, hook_inputs(engine, *model, *loss, spec), measured);
  std::optional<BestModel> best;
  if (recipe.checkpoint.best) best = best_model(*recipe.checkpoint.best, measured);
  const bool skips_updates = engine.precision().skips_updates();
  Progress progress;
  progress.total_steps = plan.total_steps.value_or(0);
  return {recipe,
          std::move(data),
          plan,
          std::move(engine),
          std::move(model),
          std::move(loss),
          std::move(metrics),
          std::move(optimizer),
          std::move(learning_rate),
          std::move(hooks),
          std::move(best),
          DivergenceGuard(recipe.train.on_divergence, skips_updates),
          progress};
}

}  // namespace runner
