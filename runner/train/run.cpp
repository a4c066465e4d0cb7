#include "runner/train/run.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include "components/optimizers/support/groups.hpp"
#include "runner/inspect/inspection.hpp"
#include "runner/parts.hpp"
#include "runner/train/feed.hpp"

namespace runner {

namespace {

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

HookInputs hook_inputs(const Engine& engine, const Loss& loss, const DataSpec& data) {
  const Inspection inspection = inspect(engine.model(), loss, data);
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

// What can only be done once, a download or a cache, one rank on each machine does before the others.
Splits open_shared_data(const Recipe& recipe, World& world) {
  std::optional<Splits> data;
  world.once(World::Once::on_each_machine, "the preparation of the data", [&] { data = open_data(recipe); });
  return data ? *std::move(data) : open_data(recipe);
}

// Of all parameters, those that this rank updates.
std::vector<ParameterGroup> own_groups(std::vector<ParameterGroup> groups, const Engine& engine) {
  for (ParameterGroup& group : groups) {
    ParameterGroup own = group;
    own.names.clear();
    own.parameters.clear();
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      if (!engine.updates(group.names[i])) continue;
      own.names.push_back(group.names[i]);
      own.parameters.push_back(group.parameters[i]);
    }
    group = std::move(own);
  }
  std::erase_if(groups, [](const ParameterGroup& group) { return group.names.empty(); });
  return groups;
}

BestModel best_model(const BestRule& rule, const std::vector<std::string>& names) {
  if (std::ranges::find(names, rule.metric) == names.end())
    throw std::runtime_error("checkpoint.best is about \"" + rule.metric + "\", which nothing measures.");
  return BestModel(rule);
}

}  // namespace

Run::Run(const Recipe& recipe_, World& world)
    : recipe(recipe_),
      engine(engine_options(recipe), world),
      data(open_shared_data(recipe, world)),
      plan(make_plan(recipe.train, global_batch_size(recipe, world), data.train->size())),
      loss(recipe.loss.build({data.train->spec()})),
      metrics(build_metrics(recipe, data.eval ? data.eval->spec() : data.train->spec(), *loss)),
      measured(measurement_names(metrics)),
      learning_rate(recipe.scheduler, plan.total_steps.value_or(0), static_cast<double>(plan.steps_per_epoch),
                    measured),
      generators(engine.device()) {
  const DataSpec spec = data.train->spec();
  engine.prepare(build_model(recipe, spec), [&](const auto& parameters) {
    return recipe.optimizer.build({own_groups(make_groups(parameters, recipe.optimizer.common), engine)});
  });
  if (!recipe.hook.empty()) hooks = build_hooks(recipe.hook, hook_inputs(engine, *loss, spec), measured);
  if (recipe.checkpoint.best) best = best_model(*recipe.checkpoint.best, measured);
  progress.total_steps = plan.total_steps.value_or(0);

  stateful = {{"model", &engine.weights_state()},
              {"optimizer", &engine.optimizer()},
              {"engine", &engine},
              {"schedule", &learning_rate.schedule()},
              {"progress", &progress_state},
              {"requests", &requests},
              {"generators", &generators},
              {"times", &engine.times()}};
  if (best) stateful.emplace_back("best", &*best);
  for (std::size_t i = 0; i < hooks.size(); ++i)
    stateful.emplace_back("hook." + std::to_string(i) + "." + recipe.hook[i].name(), hooks[i].get());
}

}  // namespace runner
