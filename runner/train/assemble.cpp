#include "runner/train/assemble.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include "components/models/support/load_weights.hpp"
#include "components/optimizers/support/groups.hpp"
#include "registry/log.hpp"
#include "runner/inspect/inspection.hpp"
#include "runner/train/overfit.hpp"

namespace runner {

namespace {

Splits open_data(const Recipe& recipe) {
  const auto dataset = recipe.dataset.build({static_cast<std::uint64_t>(recipe.run.seed)});
  Splits data = dataset->open(build_pipeline(recipe.dataset.common.transform, dataset->spec()));
  if (!data.train || data.train->size() == 0) throw DataError("the dataset has no training examples");
  data.train = limited(std::move(data.train), recipe.dataset.common.train_limit);
  if (data.eval) data.eval = limited(std::move(data.eval), recipe.dataset.common.eval_limit);
  if (recipe.loader.overfit_batches) {
    overfit(data,
            *recipe.loader.overfit_batches * recipe.loader.batch_size * recipe.train.accumulation_steps);
  }
  return data;
}

std::shared_ptr<Model> build_model(const Recipe& recipe, const DataSpec& data) {
  torch::manual_seed(static_cast<std::uint64_t>(recipe.run.seed));
  std::shared_ptr<Model> model = recipe.model.build({data});
  if (const auto loaded = apply_common(*model, recipe.model.common)) log::info(loaded->text());
  return model;
}

std::vector<std::unique_ptr<Metric>> build_metrics(const Recipe& recipe, const DataSpec& data,
                                                   const Loss& loss) {
  std::vector<std::unique_ptr<Metric>> metrics;
  for (const auto& part : recipe.eval.metric) metrics.push_back(part.build({data, &loss}));
  return metrics;
}

std::vector<std::string> measurement_names(const std::vector<std::unique_ptr<Metric>>& metrics) {
  std::vector<std::string> names;
  for (const auto& metric : metrics) {
    for (const std::string& name : metric->names()) names.push_back("eval/" + name);
  }
  return names;
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

// Adds to the names what the weights that hooks keep will be measured as.
std::vector<std::unique_ptr<Hook>> build_hooks(const std::vector<Part<HookKind>>& parts, HookInputs inputs,
                                               std::vector<std::string>& names) {
  const std::vector<std::string> measured = names;
  std::vector<std::unique_ptr<Hook>> hooks;
  for (const auto& part : parts) {
    inputs.metrics = names;
    hooks.push_back(part.build(inputs));
    const KeptWeights* weights = hooks.back()->kept_weights();
    if (!weights) continue;
    for (const std::string& name : measured) {
      const std::string theirs = weights->name + name.substr(name.find('/'));
      if (std::ranges::find(names, theirs) != names.end())
        throw std::runtime_error("Two hooks keep weights named \"" + weights->name + "\": delete one.");
      names.push_back(theirs);
    }
  }
  return hooks;
}

BestModel best_model(const BestRule& rule, const std::vector<std::string>& names) {
  if (std::ranges::find(names, rule.metric) == names.end())
    throw std::runtime_error("checkpoint.best is about \"" + rule.metric + "\", which nothing measures.");
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
  auto loss = recipe.loss.build({spec});
  auto metrics = build_metrics(recipe, data.eval ? data.eval->spec() : spec, *loss);
  auto names = measurement_names(metrics);
  LearningRate learning_rate(recipe.scheduler, plan.total_steps.value_or(0),
                             static_cast<double>(plan.steps_per_epoch), names);
  auto optimizer = recipe.optimizer.build({make_groups(model->named_parameters(), recipe.optimizer.common)});
  std::vector<std::unique_ptr<Hook>> hooks;
  if (!recipe.hook.empty()) hooks = build_hooks(recipe.hook, hook_inputs(engine, *model, *loss, spec), names);
  std::optional<BestModel> best;
  if (recipe.checkpoint.best) best = best_model(*recipe.checkpoint.best, names);
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
          progress};
}

}  // namespace runner
