#include "runner/inspect/estimate.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <limits>

#include "components/models/support/load_weights.hpp"
#include "components/optimizers/support/groups.hpp"
#include "components/schedulers/support/learning_rate.hpp"
#include "components/support/meta_mode.hpp"
#include "runner/inspect/blueprint.hpp"
#include "runner/inspect/inspection.hpp"
#include "runner/plan.hpp"

namespace runner {

namespace {

// At most a number that can still be added to others: more memory than there is, in any case.
std::int64_t product(std::int64_t one, std::int64_t other) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 8;
  std::int64_t result = 0;
  return __builtin_mul_overflow(one, other, &result) ? most : std::min(result, most);
}

// Optimizers make their state at the first update: let it make one that changes nothing that matters here.
std::int64_t state_bytes(Model& model, Optimizer& optimizer) {
  MetaMode meta;
  std::optional<OperatorModeScope> scope;
  if (model.parameters().front().is_meta()) scope.emplace(meta);
  for (torch::Tensor& parameter : model.parameters()) {
    if (parameter.requires_grad()) parameter.mutable_grad() = torch::zeros_like(parameter);
  }
  optimizer.step(0.0);
  return optimizer.save().bytes();
}

void plan_steps(const Recipe& recipe, Estimate& result) {
  if (result.train_examples == 0) {
    if (recipe.train.max_steps && !recipe.train.epochs) result.total_steps = recipe.train.max_steps;
    return;
  }
  const Plan plan = make_plan(recipe.train, recipe.loader.batch_size, result.train_examples);
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

Estimate estimate(const Value& resolved, const Registry& registry) {
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
  result.optimizer_bytes = state_bytes(*blueprint.model, *optimizer);
  result.batch_size = recipe.loader.batch_size;
  result.examples_per_step = recipe.loader.batch_size * recipe.train.accumulation_steps;
  result.passed = found.passed;
  result.obstacle = found.obstacle;
  result.activation_bytes = product(found.activation_bytes_per_sample, result.batch_size);
  result.forward_flops_per_example = found.forward_flops_per_sample;
  result.step_flops = 3 * found.forward_flops_per_sample * static_cast<double>(result.examples_per_step);
  result.train_examples = blueprint.data.train_examples;
  result.peak_lr = optimizer->peak_lr();
  plan_steps(recipe, result);
  draw_learning_rate(recipe, result);
  return result;
}

}  // namespace runner
