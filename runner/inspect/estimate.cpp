#include "runner/inspect/estimate.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include "components/models/weights/load_weights.hpp"
#include "components/optimizers/groups.hpp"
#include "components/schedulers/learning_rate.hpp"
#include "registry/base/arithmetic.hpp"
#include "runner/inspect/blueprint.hpp"
#include "runner/inspect/inspection.hpp"
#include "runner/recipe/plan.hpp"

namespace runner {

namespace {

void plan_steps(const Recipe& recipe, Estimate& result) {
  if (result.train_examples == 0) {
    if (recipe.train.max_steps && !recipe.train.epochs) result.total_steps = recipe.train.max_steps;
    return;
  }
  const Plan plan = make_plan(recipe.train, result.examples_per_step / recipe.train.accumulation_steps,
                              result.train_examples);
  result.steps_per_epoch = plan.steps_per_epoch;
  result.total_steps = plan.total_steps;
}

void draw_learning_rate(const Recipe& recipe, Estimate& result) {
  if (!result.total_steps || *result.total_steps == 0) return;
  constexpr std::int64_t most_points = 500;
  const std::int64_t total = *result.total_steps;
  const LearningRate rate(recipe.scheduler, total,
                          static_cast<double>(result.steps_per_epoch.value_or(total)));
  const std::int64_t stride = std::max<std::int64_t>(1, total / most_points);
  for (std::int64_t step = 0; step < total; step += stride) {
    result.lr_curve.emplace_back(static_cast<double>(step), result.peak_lr * rate.factor(step));
  }
}

}  // namespace

Estimate estimate(const Value& resolved, const Registry& registry, int ranks) {
  const Recipe recipe = decode_table<Recipe>(resolved, registry);
  Blueprint blueprint = draw_blueprint(recipe);
  Inspection found = inspect(recipe, blueprint);
  freeze_parameters(*blueprint.model, recipe.model.common.freeze);
  found.trained_parameters = count_weights(*blueprint.model).trained_parameters;
  const auto optimizer =
      recipe.optimizer.build({make_groups(blueprint.model->named_parameters(), recipe.optimizer.common)});
  Estimate result;
  result.model = recipe.model.name();
  result.optimizer = recipe.optimizer.name();
  result.parameters = found.parameters;
  result.trained_parameters = found.trained_parameters;
  result.weight_bytes = found.weight_bytes;
  for (const torch::Tensor& parameter : blueprint.model->parameters()) {
    if (parameter.requires_grad()) result.gradient_bytes += static_cast<std::int64_t>(parameter.nbytes());
  }
  result.optimizer_bytes = optimizer_bytes(blueprint.model->parameters(), *optimizer).state;
  const bool for_each_rank = recipe.distributed.batch == BatchOf::rank;
  const std::int64_t in_all = saturating_product(recipe.loader.batch_size, for_each_rank ? ranks : 1);
  result.batch_size = divide_up(in_all, ranks);
  result.examples_per_step = saturating_product(in_all, recipe.train.accumulation_steps);
  result.passed = found.passed;
  result.obstacle = found.obstacle;
  result.activation_bytes = saturating_product(found.activation_bytes_per_example, result.batch_size);
  result.forward_flops_per_example = found.forward_flops_per_example;
  result.step_flops = 3 * found.forward_flops_per_example * static_cast<double>(result.examples_per_step);
  result.train_examples = blueprint.data.train_examples;
  result.peak_lr = optimizer->peak_lr();
  if (ranks > 1) {
    const RankEstimate shared = estimate_ranks(recipe, *blueprint.model, ranks);
    result.weight_bytes = shared.weight_bytes;
    result.gradient_bytes = shared.gradient_bytes;
    result.optimizer_bytes = shared.optimizer_bytes;
    result.ranks = shared;
  }
  plan_steps(recipe, result);
  draw_learning_rate(recipe, result);
  return result;
}

}  // namespace runner
