#include "runner/train/run.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include "components/datasets/support/selection.hpp"
#include "components/optimizers/support/groups.hpp"
#include "registry/log.hpp"
#include "runner/inspect/blueprint.hpp"
#include "runner/measurements.hpp"
#include "runner/parts.hpp"
#include "runner/train/feed.hpp"

namespace runner {

namespace {

std::unique_ptr<Loss> build_loss(const Recipe& recipe, const Split& train) {
  const DataSpec data = train.spec();
  require_targets(recipe.loss, data);
  const bool counted = recipe.loss.facts().needs_class_counts;
  return recipe.loss.build({data, counted ? class_counts(train, data.classes) : std::vector<std::int64_t>{}});
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

std::vector<std::unique_ptr<Hook>> build_hooks(const std::vector<Part<HookKind>>& parts, HookInputs inputs,
                                               const std::vector<Measured>& measured) {
  inputs.measured = measured;
  std::vector<std::unique_ptr<Hook>> hooks;
  for (const auto& part : parts) hooks.push_back(part.build(inputs));
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

std::unique_ptr<Optimizer> build_optimizer(const Recipe& recipe, std::vector<ParameterGroup> all,
                                           const Engine& engine) {
  const std::vector<ParameterGroup> own = own_groups(std::move(all), engine);
  try {
    return recipe.optimizer.build({own});
  } catch (const std::exception& error) {
    if (recipe.distributed.strategy == RankStrategy::ddp || engine.world().alone()) throw;
    throw std::runtime_error(
        log::format("{} (This rank updates only some of the parameters: take fewer ranks, or "
                    "distributed.strategy = \"ddp\".)",
                    error.what()));
  }
}

BestModel best_model(BestRule rule, const std::vector<Measured>& measured) {
  rule.mode = direction_of({rule.metric, rule.mode}, measured, "checkpoint.best");
  return BestModel(rule);
}

}  // namespace

Run::Run(const Recipe& recipe_, World& world)
    : recipe(recipe_),
      engine(engine_options(recipe), world),
      data(open_shared_data(recipe, world)),
      plan(make_plan(recipe.train, global_batch_size(recipe, world), data.train->size())),
      loss(build_loss(recipe, *data.train)),
      metrics(build_metrics(recipe, data.eval ? data.eval->spec() : data.train->spec(), *loss)),
      measured(measurements_of(recipe)),
      learning_rate(recipe.scheduler, plan.schedule_steps(), static_cast<double>(plan.steps_per_epoch),
                    measured),
      divergence(recipe.train.on_divergence, engine.precision().skips_updates()),
      generators(engine.device()) {
  const DataSpec spec = data.train->spec();
  require_memory(recipe, spec);
  engine.prepare(build_model(recipe, spec), [&](const auto& parameters) {
    return build_optimizer(recipe, make_groups(parameters, recipe.optimizer.common), engine);
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
              {"divergence", &divergence},
              {"times", &engine.times()}};
  if (best) stateful.emplace_back("best", &*best);
  for (std::size_t i = 0; i < hooks.size(); ++i)
    stateful.emplace_back("hook." + std::to_string(i) + "." + recipe.hook[i].name(), hooks[i].get());
}

}  // namespace runner
