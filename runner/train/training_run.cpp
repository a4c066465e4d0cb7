#include "runner/train/training_run.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "components/datasets/selection.hpp"
#include "components/models/weights/weights_and_data.hpp"
#include "components/optimizers/groups.hpp"
#include "registry/base/log.hpp"
#include "runner/engine/runtime/process.hpp"
#include "runner/engine/strategies/own_groups.hpp"
#include "runner/inspect/blueprint.hpp"
#include "runner/inspect/build_hooks.hpp"
#include "runner/recipe/measurements.hpp"
#include "runner/recipe/parts.hpp"
#include "runner/train/equal_ranks.hpp"
#include "runner/train/feed.hpp"
#include "runner/train/initial_model.hpp"

namespace runner {

namespace {

std::unique_ptr<Loss> loss_for(const Recipe& recipe, const Split& train) {
  return build_loss(recipe, train.spec(), [&] { return class_counts(train, train.spec().classes); });
}

HookInputs place_of_hooks(const Engine& engine, const DataSpec& data) {
  HookInputs inputs;
  inputs.ranks = engine.world().size();
  inputs.device = engine.device();
  inputs.weights = &engine.weights();
  inputs.data = data;
  return inputs;
}

// If weights differ from rank to rank, so would their averages, and evaluations of these. Gradients that each
// rank keeps to itself are not those of the examples that Progress counts.
void require_fitting_hooks(const Recipe& recipe, const std::vector<std::unique_ptr<Hook>>& hooks,
                           const Engine& engine) {
  if (recipe.distributed.strategy != RankStrategy::local_sgd || engine.world().alone()) return;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (hooks[i]->kept_weights())
      throw std::runtime_error(
          log::format("Hook \"{}\" follows the weights of every update, which differ from rank to rank with "
                      "distributed.strategy = \"local_sgd\": remove the hook, or choose another strategy.",
                      recipe.hook[i].name()));
    if (recipe.hook[i].facts().needs_summed_gradients)
      throw std::runtime_error(
          log::format("Hook \"{}\" needs gradients that are summed over all ranks, which "
                      "distributed.strategy = \"local_sgd\" never does: remove the hook, or choose another "
                      "strategy.",
                      recipe.hook[i].name()));
  }
}

// One rank on each machine opens the data first and does what must happen once, such as a download.
Splits open_shared_data(const Recipe& recipe, World& world, const LearntData& learnt) {
  std::optional<Splits> data;
  world.once(World::Once::on_each_machine, "the preparation of the data",
             [&] { data = open_data(recipe, learnt); });
  if (!data) data = open_data(recipe, learnt);
  // Not a collective: opening the data may take longer than the timeout of collectives.
  world.wait_for_all("the preparation of the data");
  require_equal_data(world, *data);
  return *std::move(data);
}

std::unique_ptr<Optimizer> build_optimizer(const Recipe& recipe, std::vector<ParameterGroup> all,
                                           const Engine& engine) {
  const auto own = own_inputs(std::move(all), [&](const std::string& name) { return engine.updates(name); });
  try {
    return recipe.optimizer.build(own);
  } catch (const std::exception& error) {
    if (!engine.updates_a_part()) throw;
    throw std::runtime_error(
        log::format("{} (This rank updates only some of the parameters: use fewer ranks, or "
                    "distributed.strategy = \"ddp\".)",
                    error.what()));
  }
}

// Called before ranks keep only parts of the model. If no rank holds all values, inspects a sketch of it.
Inspection inspected(const Recipe& recipe, const InitialModel& initial, const Loss& loss,
                     const DataSpec& data) {
  return inspect(initial.values.in_model() ? *initial.model : *sketch_model(recipe, data), loss, data);
}

// A hook that writes models in its own format needs all weights in one place.
bool any_saves_models(const std::vector<Part<HookKind>>& hooks) {
  return std::ranges::any_of(hooks, [](const auto& hook) { return hook.facts().saves_models; });
}

BestModel best_model(BestRule rule, const std::vector<Measured>& measured) {
  rule.mode = direction_of({rule.metric, rule.mode}, measured, "checkpoint.best");
  return BestModel(rule);
}

}  // namespace

Run::Run(const Recipe& recipe_, World& world, const std::optional<EarlierPlan>& earlier,
         const ModelFactory& make_model, const LearntData& learnt)
    : recipe(recipe_),
      engine(engine_options(recipe), world),
      data(open_shared_data(recipe, world, learnt)),
      plan(make_plan(recipe.train, global_batch_size(recipe, world), data.train->size(), earlier)),
      loss(loss_for(recipe, *data.train)),
      metrics(build_metrics(recipe, data.eval ? data.eval->spec() : data.train->spec(), *loss)),
      measured(measurements_of(recipe)),
      learning_rate(recipe.scheduler, plan.schedule_steps(), static_cast<double>(plan.steps_per_epoch),
                    measured),
      divergence(recipe.train.on_divergence, engine.precision().skips_updates()),
      generators(engine.device()) {
  const DataSpec spec = data.train->spec();
  if (!make_model && world.is_main()) compare_weights_with_data(recipe.model.common, spec);
  if (!make_model) require_memory(recipe, spec, world, engine.device());
  std::optional<ReturnFreedMemory> bounded;  // whole tensors are temporary, only slices stay
  if (recipe.distributed.strategy == RankStrategy::zero3 && !world.alone()) bounded.emplace();
  InitialModel initial = make_model ? InitialModel{make_model(recipe, spec)}
                                    : build_initial_model(recipe, spec, world, earlier.has_value());
  const Inspection inspection = recipe.hook.empty() ? Inspection{} : inspected(recipe, initial, *loss, spec);
  engine.prepare(
      initial.model,
      [&](const auto& parameters) {
        return build_optimizer(recipe, make_groups(parameters, recipe.optimizer.common), engine);
      },
      std::move(initial.values));
  if (!recipe.hook.empty())
    hooks = build_hooks(recipe, inspection, engine.precision(), place_of_hooks(engine, spec));
  require_fitting_hooks(recipe, hooks, engine);
  if (recipe.checkpoint.best) best = best_model(*recipe.checkpoint.best, measured);
  progress.total_steps = plan.total_steps.value_or(0);

  stateful = {{"model", &engine.weights_state(any_saves_models(recipe.hook))},
              {"optimizer", &engine.optimizer()},
              {"engine", &engine},
              {"schedule", &learning_rate.schedule()},
              {"progress", &progress_state},
              {"requests", &requests},
              {"generators", &generators},
              {"divergence", &divergence},
              {"times", &engine.times()}};
  if (engine.compression()) stateful.emplace_back("compression", engine.compression());
  if (best) stateful.emplace_back("best", &*best);
  for (std::size_t i = 0; i < hooks.size(); ++i)
    stateful.emplace_back("hook." + std::to_string(i) + "." + recipe.hook[i].name(),
                          &engine.as_whole(*hooks[i]));
}

std::vector<ModelStatesHook> model_states_hooks(const Run& run, ModelStatesCall call) {
  std::vector<ModelStatesHook> hooks;
  for (const auto& hook : run.hooks)
    hooks.push_back([call, hook = hook.get()](ModelStates& models, const std::filesystem::path& folder) {
      (hook->*call)(models, folder);
    });
  return hooks;
}

}  // namespace runner
